"""A plan is confirmed by a code from outside the session, as it was previewed, or nothing moves."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context
from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import connection
from django.db.models.functions import Now

from backoffice import commands
from backoffice.audit.models import AuditEvent
from backoffice.commands import Actor
from backoffice.errors import Refusal
from backoffice.jobs.models import Job
from backoffice.stepup.models import Device, StepUp
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant, User
from queues.definitions.release_payouts import ReleasePayouts
from queues.models import Payout
from queues.money import Limit, confirming
from queues.money.confirming import PlanChanged
from queues.money.models import Plan, PlanLine
from queues.money.settling import cancel_plan
from tests.making_codes import fresh_code, make_device, wrong_code
from tests.making_money import make_payout, make_payouts, make_plan

CODE = "jobs#confirm-bulk-money-actions-out-of-band"


@pytest.fixture
def finance(make_person: Callable[..., User]) -> User:
    person = make_person(roles=("finance",))
    make_device(person)
    return person


@pytest.fixture
def colleague(make_person: Callable[..., User]) -> User:
    person = make_person(roles=("finance",))
    make_device(person)
    return person


@pytest.fixture
def low_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        ReleasePayouts, "limits", {"EUR": Limit(total=10_000, four_eyes_above=1_000), "JPY": Limit(total=10**6)}
    )


def _device(person: User) -> Device:
    return Device.objects.filter(person=person).earliest("pk")


def _confirm(person: User, plan: Plan, *, code: str = "", digest: str = "", key: str = "") -> confirming.Confirmed:
    code = code or fresh_code(make_device(person))  # a device of its own: each step of one gives one code
    return confirming.confirm(
        person=person, plan_id=plan.pk, digest=digest or plan.digest, code=code, key=key or f"{plan.pk}:{code}"
    )


def _refused(person: User, plan: Plan, **more: str) -> Refusal:
    with pytest.raises(Refusal) as caught:
        _confirm(person, plan, **more)
    return caught.value


def _nothing_moved(plan: Plan) -> bool:
    plan.refresh_from_db()
    return (
        plan.state == Plan.State.DRAFT
        and not Job.objects.exists()
        and not Payout.objects.exclude(plan_id=None).exists()
        and set(plan.lines.values_list("state", flat=True)) == {"planned"}
    )


@pytest.mark.proves(CODE)
def test_a_right_code_claims_every_line_and_submits_one_run(finance: User) -> None:
    payouts = make_payouts(3)
    untouched = make_payout()
    plan = make_plan(finance, payouts)
    confirmed = _confirm(finance, plan)
    plan.refresh_from_db()
    job = Job.objects.get()
    assert (confirmed.waiting, confirmed.job_id, plan.job_id) == (False, job.pk, job.pk)
    assert (plan.state, plan.confirmed_by, plan.approved_by, plan.four_eyes) == ("confirmed", finance, None, False)
    assert (job.kind, job.submission_key) == ("money.run-plan", f"plan:{plan.pk}")
    assert set(Payout.objects.filter(plan_id=plan.pk)) == set(payouts)
    untouched.refresh_from_db()
    assert untouched.plan_id is None
    assert StepUp.objects.get().consumed_at is not None


@pytest.mark.proves(CODE)
def test_a_wrong_code_moves_nothing_and_says_how_many_tries_are_left(finance: User) -> None:
    plan = make_plan(finance, make_payouts(2))
    refusal = _refused(finance, plan, code=wrong_code(_device(finance)))
    assert refusal.code == "wrong-code" and "4 tries are left" in str(refusal.message)
    assert _nothing_moved(plan)


@pytest.mark.proves(CODE)
def test_a_used_code_is_refused_for_another_plan(finance: User) -> None:
    first, second = make_plan(finance, make_payouts(1)), make_plan(finance, make_payouts(1))
    code = fresh_code(_device(finance))
    _confirm(finance, first, code=code)
    assert _refused(finance, second, code=code).code == "code-used"
    second.refresh_from_db()
    assert second.state == "draft" and Job.objects.count() == 1


def test_two_people_at_once_cannot_start_one_plan_twice(finance: User, colleague: User) -> None:
    _race([finance, colleague], make_plan(finance, make_payouts(20)), ["not-a-draft", "started"])


def test_two_sessions_with_one_code_start_one_run(finance: User) -> None:
    said = _race([finance, finance], make_plan(finance, make_payouts(20)), None)
    assert said.count("started") == 1 and set(said) <= {"started", "code-used", "not-a-draft"}


def _race(people: list[User], plan: Plan, expected: list[str] | None) -> list[str]:
    barrier, said = threading.Barrier(2), []
    codes = [fresh_code(_device(person)) for person in people]

    def session(n: int) -> None:
        barrier.wait()
        try:
            _confirm(User.objects.get(pk=people[n].pk), plan, code=codes[n], key=f"session-{n}")
            said.append("started")
        except Refusal as refusal:
            said.append(refusal.code)
        finally:
            connection.close()

    threads = [threading.Thread(target=copy_context().run, args=(session, n)) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if expected is not None:
        assert sorted(said) == expected
    assert Job.objects.count() == 1 and Payout.objects.filter(plan_id=plan.pk).count() == plan.line_count
    return said


def test_the_same_form_sent_twice_has_one_answer(finance: User) -> None:
    plan = make_plan(finance, make_payouts(2))
    code = fresh_code(_device(finance))
    assert _confirm(finance, plan, code=code, key="form") == _confirm(finance, plan, code=code, key="form")
    assert Job.objects.count() == 1


@pytest.mark.proves("jobs#show-a-preview-before-bulk-money-actions")
def test_an_amount_changed_after_the_preview_is_shown_and_moves_nothing_while_the_code_is_spent(finance: User) -> None:
    payouts = make_payouts(3)
    plan = make_plan(finance, payouts)
    Payout.objects.filter(pk=payouts[1].pk).update(amount=Decimal("900.00"))
    code = fresh_code(_device(finance))
    refusal = _refused(finance, plan, code=code)
    assert isinstance(refusal, PlanChanged)
    assert [(d.position, d.reference, d.what, d.before, d.after) for d in refusal.differences] == [
        (2, payouts[1].reference, "amount", "EUR 100.00", "EUR 900.00")
    ]
    assert _nothing_moved(plan)
    assert StepUp.objects.get().consumed_at is None
    again = make_plan(finance, payouts)
    assert _refused(finance, again, code=code).code == "code-used"


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"account": "DE00 MINE"}, "account"),
        ({"beneficiary": "Somebody else"}, "payee"),
        ({"currency": "JPY"}, "amount"),
        ({"state": "held"}, "not payable now"),
        ({"plan_id": 99}, "not payable now"),
    ],
)
def test_every_change_of_what_is_paid_is_found(finance: User, change: dict[str, object], what: str) -> None:
    payouts = make_payouts(2)
    plan = make_plan(finance, payouts)
    Payout.objects.filter(pk=payouts[0].pk).update(**change)
    refusal = _refused(finance, plan)
    assert isinstance(refusal, PlanChanged)
    assert [(d.position, d.what) for d in refusal.differences] == [(1, what)]
    assert not Job.objects.exists()


def test_a_change_that_was_taken_back_is_found_too(finance: User) -> None:
    payout = make_payout()
    plan = make_plan(finance, [payout])
    for state in ("held", "approved"):
        Payout.objects.filter(pk=payout.pk).update(state=state)
    refusal = _refused(finance, plan)
    assert isinstance(refusal, PlanChanged)
    assert [d.what for d in refusal.differences] == ["approval"]


def test_two_plans_over_one_payout_cannot_both_be_confirmed(finance: User, colleague: User) -> None:
    payouts = make_payouts(2)
    one, other = make_plan(finance, payouts), make_plan(colleague, payouts[1:])
    _confirm(finance, one)
    refusal = _refused(colleague, other)
    assert isinstance(refusal, PlanChanged)
    assert f"plan {one.pk}" in refusal.differences[0].after


def test_an_expired_preview_is_refused_before_the_code_is_looked_at(finance: User) -> None:
    plan = make_plan(finance, make_payouts(1))
    Plan.objects.filter(pk=plan.pk).update(expires_at=Now() - timedelta(seconds=1))
    assert _refused(finance, plan).code == "plan-expired"
    assert not StepUp.objects.exists()


def test_a_dropped_an_empty_a_foreign_and_another_plan_are_refused(
    finance: User, other_tenant: Tenant, make_person: Callable[..., User]
) -> None:
    dropped, kept = make_plan(finance, make_payouts(1)), make_plan(finance, make_payouts(1))
    commands.dispatch(cancel_plan, actor=Actor.person(finance), key="drop", plan_id=dropped.pk)
    assert _refused(finance, dropped).code == "not-a-draft"
    assert _refused(finance, make_plan(finance, [make_payout(state="pending")])).code == "nothing-to-release"
    assert _refused(finance, kept, digest="0" * 64).code == "digest-differs"
    stranger = make_person(roles=("finance",), tenant=other_tenant)
    with scope.open(other_tenant):
        make_device(stranger)
        assert _refused(stranger, kept).code == "no-such-plan"


def test_only_people_who_may_confirm_can(make_person: Callable[..., User], finance: User) -> None:
    plan = make_plan(finance, make_payouts(1))
    staff = make_person(roles=("staff",))
    make_device(staff)
    assert _refused(staff, plan).code == "not-permitted"
    assert _nothing_moved(plan)


@pytest.mark.usefixtures("low_threshold")
def test_a_sum_above_the_threshold_needs_two_people(finance: User, colleague: User) -> None:
    plan = make_plan(finance, make_payouts(11))
    assert _refused(colleague, plan).code == "requester-first"
    assert _confirm(finance, plan).waiting
    plan.refresh_from_db()
    assert (plan.state, plan.confirmed_by, plan.four_eyes) == ("draft", finance, True)
    hours = (plan.expires_at - plan.confirmed_at).total_seconds() / 3600  # type: ignore[operator]  # set with confirmed_by
    assert round(hours) == 24
    assert not Job.objects.exists() and not Payout.objects.exclude(plan_id=None).exists()
    assert _refused(finance, plan).code == "same-person"
    assert not _confirm(colleague, plan).waiting
    plan.refresh_from_db()
    assert (plan.state, plan.confirmed_by, plan.approved_by) == ("confirmed", finance, colleague)


@pytest.mark.usefixtures("low_threshold")
def test_splitting_a_sum_does_not_pass_under_the_threshold(finance: User, colleague: User) -> None:
    first, second, third = (make_plan(finance, make_payouts(6)) for _ in range(3))
    assert not _confirm(finance, first).waiting
    assert _confirm(finance, second).waiting  # 600 + 600 > 1,000
    other = make_plan(colleague, make_payouts(6))
    assert not _confirm(colleague, other).waiting  # another person's 600
    assert _refused(colleague, third).code == "requester-first"  # nor by asking a colleague
    yen = make_plan(finance, [make_payout("900000", "JPY")])
    assert not _confirm(finance, yen).waiting
    Plan.objects.filter(pk=first.pk).update(confirmed_at=Now() - timedelta(hours=25))
    assert not _confirm(finance, third).waiting


@pytest.mark.usefixtures("low_threshold")
def test_what_was_refused_does_not_count_towards_the_threshold(finance: User) -> None:
    first, second = make_plan(finance, make_payouts(6)), make_plan(finance, make_payouts(6))
    _confirm(finance, first)
    PlanLine.objects.filter(plan=first).update(state="refused", settled_at=Now())
    assert not _confirm(finance, second).waiting


def test_the_audit_names_who_confirmed_what(finance: User) -> None:
    plan = make_plan(finance, make_payouts(1))
    _refused(finance, plan, code=wrong_code(_device(finance)))
    _confirm(finance, plan)
    events = AuditEvent.objects.filter(act__in=["stepup.verify", "plan.confirm"]).order_by("id")
    assert [(e.act, e.actor, e.data["result"].get("accepted")) for e in events] == [
        ("stepup.verify", finance.email, False),
        ("stepup.verify", finance.email, True),
        ("plan.confirm", finance.email, None),
    ]
    assert events[2].data["arguments"]["digest"] == plan.digest
