"""A confirmed plan runs line by line: each with one effect, each outcome written down, the sums equal to the ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction

from backoffice import commands, jobs
from backoffice.audit.models import AuditEvent
from backoffice.commands import Actor
from backoffice.errors import NotPermitted, Refusal
from backoffice.jobs import Cancelled, StaleFence
from backoffice.jobs.models import Job
from backoffice.tenants.models import User
from queues.definitions.release_payouts import ReleasePayouts
from queues.models import Payout
from queues.money import confirming, executing, ledger, lines, rails, settling
from queues.money.models import Account, Entry, Plan, PlanLine, Transfer
from queues.money.rails import Answer, Order, Rail, Result
from queues.money.releasing import release_payout
from tests.making_codes import fresh_code, make_device
from tests.making_money import make_payout, make_payouts, make_plan


class OneAttempt:
    """Stand for one attempt of the job; `stale_after` lets the guard fail after so many commands."""

    def __init__(
        self, *, stale_after: int | None = None, last: bool = False, cancelled_after: int | None = None
    ) -> None:
        self.job = SimpleNamespace(attempt=5 if last else 1, max_attempts=5)
        self.left = stale_after
        self.cancelled_after = cancelled_after
        self.reports: list[tuple[int, int]] = []

    @contextmanager
    def step(self, name: str) -> Iterator[bool]:
        yield True

    def report(self, done: int, total: int) -> None:
        self.reports.append((done, total))

    def guard(self) -> None:
        if self.cancelled_after is not None:
            self.cancelled_after -= 1
            if self.cancelled_after < 0:
                raise Cancelled
        if self.left is None:
            return
        if not self.left:
            raise StaleFence
        self.left -= 1


@pytest.fixture
def finance(make_person: Callable[..., User]) -> User:
    return make_person(roles=("finance",))


def _confirmed(person: User, payouts: list[Payout]) -> Plan:
    plan = make_plan(person, payouts)
    code = fresh_code(make_device(person))
    confirming.confirm(person=person, plan_id=plan.pk, digest=plan.digest, code=code, key=f"confirm-{plan.pk}")
    return Plan.objects.get(pk=plan.pk)


def _run(plan: Plan, **options: Any) -> OneAttempt:
    run = OneAttempt(**options)
    executing.run_plan(run=run, plan_id=plan.pk)  # type: ignore[arg-type]  # an attempt without its job
    return run


def _states(plan: Plan) -> list[str]:
    return list(plan.lines.order_by("position").values_list("state", flat=True))


def _ledger(plan: Plan) -> list[tuple[str, str, str, Decimal]]:
    """Return (key, account, currency, amount) of every entry that the plan made."""
    rows = Entry.objects.filter(transfer__line__plan=plan).order_by("transfer__line__position", "-amount")
    return list(rows.values_list("transfer__key", "account__code", "account__currency", "amount"))


@pytest.mark.proves("jobs#show-a-preview-before-bulk-money-actions")
def test_the_ledger_holds_exactly_the_previewed_lines(finance: User) -> None:
    payouts = [make_payout("19.99"), make_payout("9899", "JPY"), make_payout("1.234", "KWD"), make_payout("0.01")]
    untouched = make_payout()
    plan = _confirmed(finance, payouts)
    previewed = list(plan.lines.order_by("position"))
    run = _run(plan)
    expected = []
    for line in previewed:
        key = f"plan:{plan.pk}:{line.position}"
        expected += [(key, "payables", line.currency, line.amount), (key, "cash", line.currency, -line.amount)]
    assert _ledger(plan) == expected
    assert [line.item_id for line in previewed] == [payout.pk for payout in payouts]
    assert _states(plan) == ["done"] * 4
    assert run.reports[-1] == (4, 4)
    plan.refresh_from_db()
    assert plan.state == "done" and plan.settled_at is not None
    assert set(Payout.objects.filter(state="paid", plan_id=plan.pk)) == set(payouts)
    untouched.refresh_from_db()
    assert (untouched.state, untouched.plan_id) == ("approved", None)
    assert ledger.released(plan_id=plan.pk) == {
        "EUR": (2, Decimal("20.00")),
        "JPY": (1, Decimal("9899")),
        "KWD": (1, Decimal("1.234")),
    }
    assert ledger.balance(code=Account.Code.CASH, currency="EUR") == Decimal("-20.00")


def test_each_line_is_audited_as_the_system_acting_for_the_plan_with_its_confirmers(finance: User) -> None:
    plan = _confirmed(finance, make_payouts(2))
    _run(plan)
    events = list(AuditEvent.objects.filter(act="payout.release").order_by("id"))
    assert [(e.actor, e.acting_for, e.data["arguments"]["confirmers"]) for e in events] == [
        ("system:plan", f"plan:{plan.pk}", [finance.pk])
    ] * 2
    assert {e.target for e in events} == {f"payout:{line.item_id}" for line in plan.lines.all()}


def test_a_refused_line_is_written_down_and_the_run_goes_on(finance: User) -> None:
    payouts = make_payouts(5)
    plan = _confirmed(finance, payouts)
    Payout.objects.filter(pk=payouts[2].pk).update(account="DE00 CHANGED")
    _run(plan)
    assert _states(plan) == ["done", "done", "refused", "done", "done"]
    refused = plan.lines.get(position=3)
    assert (refused.code, "confirmed" in refused.words) == ("changed", True)
    payouts[2].refresh_from_db()
    assert (payouts[2].state, payouts[2].plan_id) == ("approved", None)
    assert Transfer.objects.count() == 4
    tallies = {t.state: (t.count, t.total) for t in lines.tallies(plan_id=plan.pk)}
    assert tallies == {"done": (4, Decimal("400.00")), "refused": (1, Decimal("100.00"))}
    assert [line.item_id for line in make_plan(finance, [payouts[2]]).lines.all()] == [payouts[2].pk]


def test_a_line_that_breaks_waits_for_the_next_attempt_and_holds_no_other_up(finance: User) -> None:
    plan = _confirmed(finance, [make_payout(), make_payout("500", "JPY"), make_payout()])
    Account.objects.filter(currency="JPY").delete()  # a fault of ours
    with pytest.raises(executing.LinesBroke):
        _run(plan)
    assert _states(plan) == ["done", "planned", "done"]
    ledger.open_accounts(currencies=["JPY"])
    _run(plan)
    assert _states(plan) == ["done"] * 3 and Transfer.objects.count() == 3


def test_an_attempt_that_was_taken_over_stops_at_once_and_the_next_one_ends_the_rest(finance: User) -> None:
    plan = _confirmed(finance, make_payouts(4))
    with pytest.raises(StaleFence):
        _run(plan, stale_after=3)  # the start and two lines
    assert _states(plan) == ["done", "done", "planned", "planned"]
    _run(plan)
    assert _states(plan) == ["done"] * 4
    assert Transfer.objects.count() == 4 and Entry.objects.count() == 8


@pytest.mark.case("BM-05")
def test_a_line_runs_once_whoever_repeats_its_command(finance: User) -> None:
    plan = _confirmed(finance, make_payouts(1))
    line = plan.lines.get()
    arguments = {"item_id": line.item_id, "plan_id": plan.pk, "line_id": line.pk, "confirmers": [finance.pk]}
    system = executing.actor_for(plan)
    first = commands.dispatch(release_payout, actor=system, key=line.key, **arguments)
    again = commands.dispatch(release_payout, actor=system, key=line.key, **arguments)
    assert (again.replayed, again.data) == (True, first.data)
    with pytest.raises(Refusal, match="line-elsewhere"):
        commands.dispatch(release_payout, actor=system, key="another key", **arguments)
    assert Transfer.objects.count() == 1


def test_no_person_can_run_the_command_of_a_line(finance: User) -> None:
    plan = _confirmed(finance, make_payouts(1))
    line = plan.lines.get()
    with pytest.raises(NotPermitted):
        commands.dispatch(
            release_payout,
            actor=Actor.person(finance),
            key="mine",
            item_id=line.item_id,
            plan_id=plan.pk,
            line_id=line.pk,
            confirmers=[],
        )


def test_a_plan_without_its_code_cannot_run(finance: User) -> None:
    plan = make_plan(finance, make_payouts(1))
    with pytest.raises(Refusal, match="not-confirmed"):
        _run(plan)
    assert _states(plan) == ["planned"] and not Transfer.objects.exists()


def test_a_cancelled_run_leaves_the_rest_not_started_and_free(finance: User) -> None:
    payouts = make_payouts(4)
    plan = _confirmed(finance, payouts)
    with pytest.raises(Cancelled):
        _run(plan, cancelled_after=3)  # the start and two lines
    assert _states(plan) == ["done", "done", "not_started", "not_started"]
    plan.refresh_from_db()
    assert (plan.state, plan.settled_reason) == ("cancelled", "Its run was cancelled.")
    assert set(Payout.objects.filter(state="approved", plan_id=None)) == set(payouts[2:])
    assert make_plan(finance, payouts).line_count == 2


def test_the_last_attempt_that_fails_frees_what_is_open(finance: User) -> None:
    payouts = [make_payout(), make_payout("500", "JPY"), make_payout()]
    plan = _confirmed(finance, payouts)
    Account.objects.filter(currency="JPY").delete()  # a fault of ours
    with pytest.raises(executing.LinesBroke):
        _run(plan, last=True)
    assert _states(plan) == ["done", "not_started", "done"]
    assert Payout.objects.get(pk=payouts[1].pk).plan_id is None


def test_a_person_stops_a_run_that_waits_at_once(finance: User) -> None:
    payouts = make_payouts(2)
    plan = _confirmed(finance, payouts)
    outcome = commands.dispatch(settling.halt_plan, actor=Actor.person(finance), key="halt", plan_id=plan.pk)
    assert outcome.data["stopped"] is True
    assert _states(plan) == ["not_started"] * 2
    assert Job.objects.get().state == "cancelled"
    assert not Payout.objects.exclude(plan_id=None).exists()


def test_what_a_run_that_was_lost_for_good_left_open_is_free_when_somebody_plans(finance: User) -> None:
    payouts = make_payouts(3)
    plan = _confirmed(finance, payouts)
    with pytest.raises(StaleFence):
        _run(plan, stale_after=2)
    job = Job.objects.get()
    jobs.request_cancel(job=job, by="the test")
    assert job.state == "cancelled"
    assert make_plan(finance, payouts).line_count == 2
    assert _states(plan) == ["done", "not_started", "not_started"]
    plan.refresh_from_db()
    assert plan.state == "cancelled"


def test_the_ledger_refuses_what_does_not_balance_and_what_changes_it(finance: User) -> None:
    plan = _confirmed(finance, make_payouts(1))
    _run(plan)
    transfer = Transfer.objects.get()
    cash = Account.objects.get(code="cash", currency="EUR")
    ledger.open_accounts(currencies=["JPY"])
    yen = Account.objects.get(code="payables", currency="JPY")
    for change in (
        lambda: Entry.objects.create(tenant=plan.tenant, transfer=transfer, account=yen, amount=Decimal("5")),
        lambda: Entry.objects.update(amount=Decimal("1")),
        lambda: Entry.objects.all().delete(),
        lambda: Transfer.objects.update(key="other"),
        lambda: Transfer.objects.create(tenant=plan.tenant, key=transfer.key, line=transfer.line),
        lambda: PlanLine.objects.filter(state="done").update(state="planned", settled_at=None),
        lambda: Entry.objects.bulk_create(
            [
                Entry(tenant=plan.tenant, transfer=transfer, account=cash, amount=Decimal("5")),
                Entry(tenant=plan.tenant, transfer=transfer, account=yen, amount=Decimal("-5")),
            ]
        ),
    ):
        with pytest.raises(DatabaseError), transaction.atomic():
            change()
    assert Entry.objects.count() == 2


class Bank(Rail):
    """A rail of the test: it keeps what it was sent, and answers what the test wants."""

    name = "test-bank"

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.asked: list[str] = []
        self.answers: dict[str, Answer | Exception] = {}
        self.on_ask: dict[str, Answer | Exception] = {}
        self.before_answer: Callable[[str], None] = lambda key: None

    def send(self, key: str, order: Order) -> Answer:
        assert not connection.in_atomic_block, "a rail is never called inside a transaction"
        self.sent.append(key)
        self.before_answer(key)
        return self._say(self.answers.get(key, Answer(Result.DONE, reference=f"bank-{key}")))

    def ask(self, key: str) -> Answer:
        self.asked.append(key)
        return self._say(self.on_ask.get(key, Answer(Result.UNKNOWN)))

    def _say(self, answer: Answer | Exception) -> Answer:
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def bank(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bank]:
    rails.register(Bank)
    monkeypatch.setattr(ReleasePayouts, "rail", "test-bank")
    made = rails.rails.get("test-bank")
    assert isinstance(made, Bank)
    yield made
    del rails.rails._by_name["test-bank"]


def test_another_rail_is_called_between_two_commits(finance: User, bank: Bank) -> None:
    plan = _confirmed(finance, make_payouts(3))
    key = plan.lines.get(position=2).key
    bank.answers[key] = Answer(Result.REFUSED, code="closed", words="The account is closed.")
    seen: list[str] = []
    bank.before_answer = lambda key: seen.append(PlanLine.objects.get(position=key.split(":")[2]).state)
    _run(plan)
    assert seen == ["sending"] * 3
    assert _states(plan) == ["done", "refused", "done"]
    refused = plan.lines.get(position=2)
    assert (refused.code, refused.words) == ("closed", "The account is closed.")
    assert plan.lines.get(position=1).rail_reference == f"bank-plan:{plan.pk}:1"
    assert Payout.objects.filter(state="paid").count() == 2 and Transfer.objects.count() == 2
    assert Payout.objects.get(pk=refused.item_id).plan_id is None


def test_a_rail_that_does_not_answer_is_asked_once_and_the_line_becomes_unknown(finance: User, bank: Bank) -> None:
    plan = _confirmed(finance, make_payouts(3))
    first, second, third = (line.key for line in plan.lines.order_by("position"))
    bank.answers = {first: TimeoutError(), second: TimeoutError(), third: Answer(Result.UNKNOWN)}
    bank.on_ask = {first: Answer(Result.DONE, reference="late"), second: TimeoutError()}
    _run(plan)
    assert _states(plan) == ["done", "unknown", "unknown"]
    assert bank.sent == [first, second, third]
    unknown = plan.lines.get(position=2)
    assert Payout.objects.get(pk=unknown.item_id).plan_id == plan.pk  # nobody can plan it again
    plan.refresh_from_db()
    assert plan.state == "done"


def test_a_new_attempt_that_finds_a_line_sending_asks_and_never_sends_again(finance: User, bank: Bank) -> None:
    plan = _confirmed(finance, make_payouts(3))
    first, second, third = (line.key for line in plan.lines.order_by("position"))

    def dies(key: str) -> None:
        if key == second:
            raise KeyboardInterrupt

    bank.before_answer = dies
    with pytest.raises(KeyboardInterrupt):
        _run(plan)
    assert _states(plan) == ["done", "sending", "planned"]
    bank.before_answer = lambda key: None
    bank.on_ask = {second: Answer(Result.DONE, reference="it-was-paid")}
    _run(plan)
    assert _states(plan) == ["done"] * 3
    assert (bank.sent, bank.asked) == ([first, second, third], [second])
    assert Transfer.objects.count() == 3


def test_a_line_found_sending_without_an_answer_becomes_unknown(finance: User, bank: Bank) -> None:
    plan = _confirmed(finance, make_payouts(1))
    line = plan.lines.get()
    commands.dispatch(settling.start_plan, actor=executing.actor_for(plan), key="s", plan_id=plan.pk)
    commands.dispatch(settling.send_line, actor=executing.actor_for(plan), key="send", plan_id=plan.pk, line_id=line.pk)
    with pytest.raises(Refusal):  # started already, under another key than the run's own
        _run(plan)
    Plan.objects.filter(pk=plan.pk).update(state="confirmed")
    _run(plan)
    assert _states(plan) == ["unknown"]
    assert (bank.sent, bank.asked) == ([], [line.key])
    assert not Transfer.objects.exists()


def test_a_rail_that_paid_what_cannot_be_booked_leaves_the_line_unknown_not_refused(finance: User, bank: Bank) -> None:
    payout = make_payout()
    plan = _confirmed(finance, [payout])
    bank.before_answer = lambda key: Payout.objects.filter(pk=payout.pk).update(account="DE00 CHANGED")
    _run(plan)
    line = plan.lines.get()
    assert (line.state, line.code) == ("unknown", "paid-not-booked")
    assert Payout.objects.get(pk=payout.pk).plan_id == plan.pk


def test_a_stopped_run_marks_what_was_sent_without_an_answer_unknown(finance: User, bank: Bank) -> None:
    plan = _confirmed(finance, make_payouts(2))
    line = plan.lines.get(position=1)
    commands.dispatch(settling.send_line, actor=executing.actor_for(plan), key="send", plan_id=plan.pk, line_id=line.pk)
    commands.dispatch(
        settling.stop_plan, actor=executing.actor_for(plan), key="stop", plan_id=plan.pk, reason="It failed."
    )
    assert _states(plan) == ["unknown", "not_started"]
    assert Payout.objects.get(pk=line.item_id).plan_id == plan.pk
