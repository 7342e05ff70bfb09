"""Due times: by which clock an item is due, what keeps that right, and the lists that hold what is due soon."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from random import Random
from typing import Any
from uuid import uuid4

import pytest
from django.db import transaction
from django.db.models import Q

from backoffice import clock
from backoffice.audit.models import AuditEvent
from backoffice.commands import Actor
from backoffice.errors import Refusal
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant, User
from queues import (
    Within,
    acting,
    calendars,
    claiming,
    due_filter,
    due_times,
    listing,
    queues,
    scoring,
    sweeping,
    undoing,
)
from queues.ingest import loading
from queues.models import Dispute, Holiday, Payout, WorkingCalendar
from tests.making_items import make_payouts, make_review

MONDAY = datetime(2026, 11, 30, tzinfo=UTC)
ALWAYS = [[[0, 1440]]] * 7
CLOCKS = (
    Within("first response", hours=4, after="opened_at", until="first_answered_at"),
    Within("update", hours=1, after="owed_since", paused=Q(waiting_since__isnull=False)),
)


def at(hour: int, minute: int = 0) -> datetime:
    return MONDAY.replace(hour=hour, minute=minute)


def make_dispute(tenant: Tenant, **wanted: Any) -> Dispute:
    known = {"reference": f"D-{uuid4().hex[:6]}", "customer": "Zoë", "amount": 1900, "currency": "EUR"}
    known |= {"reason": "fraud", "opened_at": clock.now(), "evidence_received_at": clock.now()}
    made = Dispute.objects.create(tenant=tenant, **{**known, **wanted})
    score(made, clock.now())
    kept(made)
    return made


def kept(item: Any) -> tuple[datetime | None, str]:
    """Let the item's due time be worked out, and return it with its reason."""
    listed = next(queue for queue in queues if queue.model is type(item))
    with transaction.atomic():
        due_times.keep_one(listed, item.pk)
    item.refresh_from_db()
    return item.due_at, item.due_reason


def change(item: Any, **fields: Any) -> tuple[datetime | None, str]:
    type(item).objects.filter(pk=item.pk).update(**fields)
    return kept(item)


def act(person: User, item: Any, action: str, queue: str = "disputes", **under: Any) -> dict[str, Any]:
    item.refresh_from_db()
    seen = {"token": None, "version": item.version, "reason": "", **under}
    declared = queues.get(queue).action(action)
    done = acting.act(actor=Actor.person(person), action=declared, item_id=item.pk, key=uuid4().hex, **seen)
    item.refresh_from_db()
    return done.data


def hold(person: User, item: Any, queue: str = "disputes") -> int:
    held = claiming.claim(actor=Actor.person(person), queue=queue, item_id=item.pk, key=uuid4().hex)
    return int(held.data["token"])


def answer(person: User, item: Any, *, waits: bool) -> dict[str, Any]:
    return act(person, item, "wait" if waits else "answer", token=hold(person, item))


def listed(queue: Any, **filters: str) -> list[Any]:
    return listing.page(queue=queue, filters=filters).items


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Declare the clocks of the cases: a first response within 4 hours, then an update each hour."""
    monkeypatch.setattr(type(queues.get("disputes")), "due", CLOCKS)


@pytest.fixture
def round_the_clock(tenant: Tenant) -> None:
    WorkingCalendar.objects.create(tenant=tenant, hours=ALWAYS)


# ------------------------------------------------------------------ which clock


@pytest.mark.case("SO-04")
def test_the_shorter_update_time_never_overrules_a_first_response_that_was_not_made(
    tenant: Tenant, clocks: None
) -> None:
    item = make_dispute(tenant, opened_at=at(10))
    assert kept(item) == (at(14), "first response")
    # The first answer stops that clock and starts the other.
    assert change(item, first_answered_at=at(11), answered_at=at(11), owed_since=at(11)) == (at(12), "update")


@pytest.mark.case("SO-05")
def test_what_waits_for_the_customer_does_not_escalate_and_its_age_counts_nothing(tenant: Tenant, clocks: None) -> None:
    item = make_dispute(tenant, opened_at=at(10) - timedelta(days=5))
    change(item, first_answered_at=at(9), answered_at=at(9), customer_wrote_at=at(10), owed_since=at(10))
    assert (item.due_at, item.due_reason) == (at(11), "update")
    assert score(item, at(11, 6))["age"] == 20
    # Staff answers at 10:05, and the customer is the one who must act.
    change(item, answered_at=at(10, 5), owed_since=at(10, 5), waiting_since=at(10, 5))
    assert (item.due_at, item.due_reason) == (None, "")
    assert not Dispute.objects.filter(due_filter.condition(queues.get("disputes"), "1h", now=at(11, 6))).exists()
    assert score(item, at(11, 6))["age"] == 0
    assert "its age does not count while it waits for the customer" in scoring.explain(item).sentence
    # The customer's message makes it our turn: both come back.
    assert change(item, waiting_since=None, owed_since=at(11, 10)) == (at(12, 10), "update")
    assert score(item, at(11, 20))["age"] == 20


def score(item: Dispute, now: datetime) -> dict[str, int]:
    with transaction.atomic():
        scoring.score_range(queues.get("disputes"), first=item.pk, last=item.pk, now=now)
    item.refresh_from_db()
    return {one["name"]: one["points"] for one in item.score_inputs}


def test_the_product_s_own_clocks_count_working_hours(tenant: Tenant) -> None:
    item = make_dispute(tenant, opened_at=at(16))
    assert kept(item) == (at(12) + timedelta(days=1), "first response")
    assert change(item, first_answered_at=at(16, 30), owed_since=at(16, 30))[1] == "update"
    payout = make_payouts(tenant=tenant, count=1, opened_at=at(10))[0]
    assert kept(payout) == (at(10) + timedelta(days=2), "check")
    review = make_review(tenant=tenant)
    assert kept(review)[1] == "review"


def test_a_wait_moves_the_resolution_by_as_much_working_time(tenant: Tenant, round_the_clock: None) -> None:
    answered = {"first_answered_at": at(10), "owed_since": at(10) + timedelta(days=9)}
    item = make_dispute(tenant, opened_at=at(9), **answered)
    assert kept(item) == (at(9) + timedelta(hours=40), "resolution")
    waits = [[at(10).isoformat(), at(15).isoformat()]]
    assert change(item, waits=waits) == (at(9) + timedelta(hours=45), "resolution")


def test_a_decided_item_is_never_overdue_and_a_reopened_one_is_again(
    tenant: Tenant, make_person: Callable[..., User]
) -> None:
    item, ann = make_dispute(tenant, opened_at=clock.now() - timedelta(days=30)), make_person()
    queue = queues.get("disputes")
    assert [one.pk for one in listed(queue, due="overdue")] == [item.pk]
    act(ann, item, "resolve", token=hold(ann, item))
    assert listed(queue, due="overdue") == []
    assert listed(queue, due="overdue", state="resolved") == []
    # The calendar changed meanwhile.
    Holiday.objects.create(tenant=tenant, day=(clock.now() - timedelta(days=30)).date(), name="Founders' day")
    before = item.due_at
    named = {"queue": "disputes", "item_id": item.pk, "key": uuid4().hex}
    undoing.reopen(actor=Actor.person(ann), version=item.version, reason="wrong", **named)
    item.refresh_from_db()
    assert [one.pk for one in listed(queue, due="overdue")] == [item.pk]
    assert item.due_at >= before
    assert kept(item) == (item.due_at, item.due_reason)


# ------------------------------------------------------------------ answers and messages


def test_an_answer_after_which_we_go_on_stops_one_clock_and_starts_the_next(
    tenant: Tenant, make_person: Callable[..., User], round_the_clock: None
) -> None:
    item, ann = make_dispute(tenant), make_person()
    assert item.due_reason == "first response"
    done = answer(ann, item, waits=False)
    assert (item.first_answered_at, item.owed_since) == (item.answered_at, item.answered_at)
    assert item.due_at == item.answered_at + timedelta(hours=8)
    assert (done["due_reason"], item.due_reason) == ("update", "update")
    assert item.claim_holder == ann
    first = item.first_answered_at
    act(ann, item, "answer", token=item.claim_token)
    assert item.first_answered_at == first < item.answered_at
    assert item.due_at == item.answered_at + timedelta(hours=8)


def test_an_answer_that_waits_pauses_the_clocks_frees_the_item_and_lets_it_sleep(
    tenant: Tenant, make_person: Callable[..., User], round_the_clock: None
) -> None:
    item, ann = make_dispute(tenant), make_person()
    answer(ann, item, waits=True)
    assert (item.due_at, item.claim_holder, item.waiting_since) == (None, None, item.answered_at)
    assert item.snoozed_until == item.answered_at + timedelta(days=7)
    with pytest.raises(Refusal) as nothing:
        claiming.claim_next(actor=Actor.person(ann), queue="disputes", key="n")
    assert nothing.value.code == "nothing-free"
    act(ann, item, "customer-wrote")
    assert (item.waiting_since, item.snoozed_until) == (None, None)
    assert item.waits == [[item.answered_at.isoformat(), item.customer_wrote_at.isoformat()]]
    assert (item.due_at, item.due_reason) == (item.customer_wrote_at + timedelta(hours=8), "update")
    claiming.claim_next(actor=Actor.person(ann), queue="disputes", key="again")


def test_a_customer_who_urges_moves_no_due_time(
    tenant: Tenant, make_person: Callable[..., User], round_the_clock: None
) -> None:
    item, ann = make_dispute(tenant), make_person()
    before = item.due_at
    act(ann, item, "customer-wrote")
    assert (item.due_at, item.due_reason) == (before, "first response")
    answer(ann, item, waits=False)
    before = item.due_at
    act(ann, item, "customer-wrote")
    assert (item.due_at, item.due_reason) == (before, "update")
    assert item.claim_holder == ann  # a fact that anybody notes, whoever holds the item


def test_an_answer_needs_one_s_own_claim_and_a_message_the_version_that_was_seen(
    tenant: Tenant, make_person: Callable[..., User]
) -> None:
    item, ann, ben = make_dispute(tenant), make_person(), make_person()
    hold(ben, item)
    for action in ("answer", "wait"):
        with pytest.raises(Refusal):
            act(ann, item, action)
    with pytest.raises(Refusal) as stale:
        act(ann, item, "customer-wrote", version=item.version + 1)
    assert stale.value.code == "changed"
    item.refresh_from_db()
    assert (item.answered_at, item.customer_wrote_at) == (None, None)


def test_what_was_noted_is_in_the_timeline_and_can_be_taken_back(
    tenant: Tenant, make_person: Callable[..., User], round_the_clock: None
) -> None:
    item, ann = make_dispute(tenant), make_person()
    fields = (
        "due_at",
        "due_reason",
        "first_answered_at",
        "answered_at",
        "owed_since",
        "waiting_since",
        "waits",
        "score",
    )
    for action in ("wait", "answer", "customer-wrote"):
        before = [getattr(item, name) for name in fields]
        noted = act(ann, item, action, token=hold(ann, item) if action != "customer-wrote" else None)
        assert noted["version"] == item.version
        undo = {"actor": Actor.person(ann), "queue": "disputes", "item_id": item.pk, "key": uuid4().hex}
        assert undoing.undo(**undo).data["undid"].startswith("dispute.")
        item.refresh_from_db()
        assert [getattr(item, name) for name in fields] == before
        assert item.snoozed_until is None
        if item.claim_holder_id:
            claiming.release(token=item.claim_token, **{**undo, "key": uuid4().hex})
        item.refresh_from_db()
    acts = AuditEvent.objects.filter(target=item.target).values_list("act", flat=True)
    assert {"dispute.answer", "dispute.answer-and-wait", "dispute.customer-wrote", "item.undo"} <= set(acts)


def test_somebody_else_s_note_cannot_be_taken_back(tenant: Tenant, make_person: Callable[..., User]) -> None:
    item, ann, ben = make_dispute(tenant), make_person(), make_person()
    answer(ann, item, waits=True)
    with pytest.raises(Refusal) as refused:
        undoing.undo(actor=Actor.person(ben), queue="disputes", item_id=item.pk, key="u")
    assert refused.value.code == "not-undoable"


# ------------------------------------------------------------------ kept right


def test_a_due_time_that_is_right_is_not_written_again(tenant: Tenant) -> None:
    make_payouts(tenant=tenant, count=5)
    assert sum(worked_out("payouts")) == 5
    assert sum(worked_out("payouts")) == 0
    Holiday.objects.create(tenant=tenant, day=date(2026, 12, 25), name="Christmas")
    assert sum(worked_out("payouts")) == 5


def test_whatever_is_said_in_whatever_order_the_due_time_is_never_out_of_date(
    tenant: Tenant, make_person: Callable[..., User]
) -> None:
    random, item, ann = Random(7), make_dispute(tenant), make_person()
    done = Counter()
    for _turn in range(40):
        action = random.choice(("answer", "wait", "customer-wrote", "undo"))
        try:
            if action == "undo":
                named = {"queue": "disputes", "item_id": item.pk, "key": uuid4().hex}
                undoing.undo(actor=Actor.person(ann), **named)
            else:
                act(ann, item, action, token=None if action == "customer-wrote" else hold(ann, item))
        except Refusal as refusal:
            done[refusal.code] += 1
            continue
        done[action] += 1
        item.refresh_from_db()
        assert sum(worked_out("disputes")) == 0
        # Who must act, and nothing else, decides whether a clock runs.
        assert (item.due_at is None) == (item.waiting_since is not None)
        assert all(first <= last for first, last in item.waits)
    assert set(done) == {"answer", "wait", "customer-wrote", "undo", "not-undoable"}
    assert min(done[name] for name in ("answer", "wait", "customer-wrote", "undo")) > 3


def worked_out(name: str) -> list[int]:
    written = []
    for first, last in scoring.ranges(queues.get(name)):
        with transaction.atomic():
            written.append(due_times.keep(queues.get(name), first=first, last=last))
    return written


def test_the_timetable_finds_what_is_out_of_date_in_every_tenant(tenant: Tenant, other_tenant: Tenant) -> None:
    ours = make_payouts(tenant=tenant, count=2)
    with scope.open(other_tenant):
        theirs = make_payouts(tenant=other_tenant, count=1, prefix="Q")
    found = list(sweeping.ranges_to_time(now=clock.now(), after="", limit=50))
    assert [(item.tenant.pk, item.arguments["queue"]) for item in found] == [
        (tenant.pk, "payouts"),
        (other_tenant.pk, "payouts"),
    ]
    assert (found[0].arguments["first"], found[1].arguments["last"]) == (ours[0].pk, theirs[0].pk)


def test_a_loaded_file_has_its_due_times_at_once_and_they_are_the_ones_that_would_be_worked_out(
    tenant: Tenant, tmp_path: Any
) -> None:
    file = tmp_path / "payments.csv"
    head = "Body Name,Organisational Unit,Expenditure Category,Expenditure Code,Paid Date,Trans No,Amount,Type,"
    rows = [
        f"C,U,Rents,K1,{day:02d}/01/2026,{day}_1,{amount},R,S1,Ada" for day, amount in ((21, 10), (22, 9), (23, -5))
    ]
    rows.append("C,U,Rents,K1,,9_9,10,R,S1,Ada")
    file.write_text("\n".join([head + "Supplier ID,Supplier Name", *rows]) + "\n")
    actor = Actor.system("shell", acting_for="a test")
    loading.load_file(actor=actor, path=file, currency="GBP", now=at(12))
    assert Payout.objects.filter(state="pending", due_at=None).count() == 0
    assert Payout.objects.get(state="credit").due_at is None
    first = Payout.objects.get(reference="21_1")
    assert (first.due_at, first.due_reason) == (datetime(2026, 1, 22, 17, tzinfo=UTC), "check")
    assert Payout.objects.get(date_missing=True).due_at == at(12) + timedelta(days=2)
    assert sum(worked_out("payouts")) == 0


def test_another_tenant_s_calendar_changes_nothing_here(tenant: Tenant, other_tenant: Tenant) -> None:
    item = make_dispute(tenant, opened_at=at(16))
    with scope.open(other_tenant):
        WorkingCalendar.objects.create(tenant=other_tenant, hours=ALWAYS)
        assert calendars.current().always
    assert not calendars.current().always
    assert kept(item)[0] == at(12) + timedelta(days=1)
