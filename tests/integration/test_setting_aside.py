"""Skips put an item behind for one person, snoozes take it out for all, and the empty state tells the truth."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.utils import timezone

from backoffice.audit.models import AuditEvent
from backoffice.commands import Actor
from backoffice.errors import NotPermitted, Refusal
from backoffice.tenants.models import Tenant, User
from queues import claiming, clocks, listing, queues, setting_aside, sweeping
from queues.models import ItemSkip, Payout
from tests.integration.test_claiming import claim, claim_next, in_threads, lapse, make_payout


def skip(person: User, taken: dict[str, Any], queue: str = "payouts") -> Any:
    return setting_aside.skip(
        actor=Actor.person(person), queue=queue, item_id=taken["item_id"], token=taken["token"], key=uuid4().hex
    )


def snooze(person: User, taken: dict[str, Any], *, hours: float = 1, reason: str = "wait for the bank") -> None:
    setting_aside.snooze(
        actor=Actor.person(person),
        queue="payouts",
        item_id=taken["item_id"],
        token=taken["token"],
        version=None,
        until=clocks.database_now() + timedelta(hours=hours),
        reason=reason,
        key=uuid4().hex,
    )


def let_pass(table: str, column: str) -> None:
    """Let every such instant have come, a second ago."""
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE {table} SET {column} = clock_timestamp() - interval '1 second'")


def narrowed(person: User, **filters: str) -> int:
    found = claiming.claim_next(actor=Actor.person(person), queue="payouts", key=uuid4().hex, filters=filters)
    return int(found.data["item_id"])


@pytest.mark.case("QC-12")
def test_a_skip_never_loops_and_counts_for_its_person_alone(tenant: Tenant, make_person: Callable[..., User]) -> None:
    ninety, eighty, seventy = [make_payout(tenant, score=score) for score in (90, 80, 70)]
    ann, ben = make_person(), make_person()
    for expected in (ninety, eighty, seventy):
        taken = claim_next(ann)
        assert taken["item_id"] == expected.pk
        skip(ann, taken)
    with pytest.raises(Refusal) as refused:
        claim_next(ann)
    first_back = timezone.localtime(ItemSkip.objects.earliest("until").until)
    assert refused.value.code == "nothing-free"
    assert refused.value.message == (f"Nothing is free now: you skipped 3, the first returns at {first_back:%H:%M}.")
    assert claim_next(ben)["item_id"] == ninety.pk
    let_pass("queues_itemskip", "until")
    assert [claim_next(ann)["item_id"] for _ in range(2)] == [eighty.pk, seventy.pk]


def test_a_skip_is_forgotten_once_it_is_over_and_is_bound_to_its_hold(
    tenant: Tenant, make_person: Callable[..., User]
) -> None:
    one, two = make_payout(tenant, score=9), make_payout(tenant, score=8)
    ann, ben = make_person(), make_person()
    first = claim(ann, one)
    skip(ann, first)
    with pytest.raises(Refusal) as refused:
        skip(ann, first)
    assert refused.value.code == "claim-lost"
    let_pass("queues_itemskip", "until")
    skip(ann, claim(ann, two))
    assert list(ItemSkip.objects.values_list("item", flat=True)) == [two.pk]
    taken = claim(ben, one)
    with pytest.raises(Refusal):
        skip(ann, {**taken, "token": first["token"]})
    assert Payout.objects.get(pk=one.pk).claim_holder == ben


def test_the_empty_state_says_who_stands_in_the_way(tenant: Tenant, make_person: Callable[..., User]) -> None:
    items = [make_payout(tenant, score=score, currency="GBP") for score in (9, 8, 7, 6)]
    make_payout(tenant, score=99, currency="EUR")
    ann, ben = make_person(), make_person()
    claim(ben, items[0])
    snooze(ann, claim(ann, items[1]))
    skip(ann, claim(ann, items[2]))
    claim(ann, items[3])
    with pytest.raises(Refusal) as refused:
        narrowed(ann, currency="GBP")
    words = str(refused.value.message)
    assert words.startswith("Nothing that matches these filters is free now: 1 is held by others, free at ")
    for part in ("1 is yours already", "1 is snoozed until ", "you skipped 1, which returns at "):
        assert part in words
    with pytest.raises(Refusal, match="Nothing that matches these filters is waiting"):
        narrowed(ann, currency="JPY")


@pytest.mark.parametrize("text", ["%", "_", "'; DROP TABLE queues_payout; --", "%(person)s", "{items}", "50%s"])
def test_a_filter_is_a_value_and_never_sql(tenant: Tenant, make_person: Callable[..., User], text: str) -> None:
    make_payout(tenant, score=50, beneficiary="Plain")
    wanted = make_payout(tenant, score=10, beneficiary=f"Odd {text} Ltd")
    ann = make_person()
    assert narrowed(ann, q=text) == wanted.pk
    with pytest.raises(Refusal):
        narrowed(ann, q=text)


def test_claim_next_takes_the_first_item_that_the_filtered_list_shows(
    tenant: Tenant, make_person: Callable[..., User]
) -> None:
    for number in range(12):
        make_payout(
            tenant, score=number % 4, currency="EUR" if number % 3 else "GBP", beneficiary=f"Payee {number % 5}"
        )
    ann = make_person()
    filters = {"currency": "EUR", "q": "payee"}
    shown = listing.page(queue=queues.get("payouts"), filters=filters, person=ann).items
    assert [narrowed(ann, **filters) for _ in range(5)] == [item.pk for item in shown[:5]]


def test_two_people_with_one_filter_never_take_one_item(tenant: Tenant, make_person: Callable[..., User]) -> None:
    made = {make_payout(tenant, score=n, currency="EUR").pk for n in range(12)}
    make_payout(tenant, score=99, currency="GBP")
    people = [make_person() for _ in range(4)]
    taken: list[int] = []
    in_threads(4, lambda number: taken.extend(narrowed(people[number], currency="EUR") for _ in range(3)))
    assert sorted(taken) == sorted(made)


def test_a_snoozed_item_leaves_the_free_set_and_returns_by_itself(
    tenant: Tenant, make_person: Callable[..., User]
) -> None:
    top, low = make_payout(tenant, score=9), make_payout(tenant, score=1)
    ann, ben = make_person(), make_person()
    snooze(ann, claim(ann, top))
    item = Payout.objects.get(pk=top.pk)
    assert item.claim_holder is None and item.snoozed_until is not None
    listed = queues.get("payouts")
    assert [i.pk for i in listing.page(queue=listed, filters={"claim": "snoozed"}, person=ben).items] == [top.pk]
    assert [i.pk for i in listing.page(queue=listed, filters={"claim": "free"}, person=ben).items] == [low.pk]
    assert claim_next(ben)["item_id"] == low.pk
    let_pass("queues_payout", "snoozed_until")
    assert [i.pk for i in listing.page(queue=listed, filters={"claim": "free"}, person=ben).items] == [top.pk]
    assert claim_next(ben)["item_id"] == top.pk  # no sweep has run
    assert Payout.objects.get(pk=top.pk).snoozed_until is None


def test_the_sweep_wakes_what_is_due_and_notes_it(tenant: Tenant, make_person: Callable[..., User]) -> None:
    item = make_payout(tenant, score=9)
    ann = make_person()
    snooze(ann, claim(ann, item))
    let_pass("queues_payout", "snoozed_until")
    claiming.commands.dispatch(
        sweeping.sweep_queue, actor=Actor.system("shell", acting_for="test"), key="sweep", queue="payouts"
    )
    assert Payout.objects.get(pk=item.pk).snoozed_until is None
    assert AuditEvent.objects.filter(target=item.target).latest("id").act == "item.wake"


def test_a_snooze_can_be_ended_and_a_sleeping_item_claimed(tenant: Tenant, make_person: Callable[..., User]) -> None:
    item = make_payout(tenant, score=9)
    ann, ben = make_person(), make_person()
    snooze(ann, claim(ann, item))
    setting_aside.wake(actor=Actor.person(ben), queue="payouts", item_id=item.pk, key=uuid4().hex)
    assert claim_next(ben)["item_id"] == item.pk
    with pytest.raises(Refusal) as refused:
        setting_aside.wake(actor=Actor.person(ben), queue="payouts", item_id=item.pk, key=uuid4().hex)
    assert refused.value.code == "awake"


def test_a_snooze_needs_ones_own_hold_a_reason_and_a_time_ahead(
    tenant: Tenant, make_person: Callable[..., User]
) -> None:
    item = make_payout(tenant, score=9)
    ann = make_person()
    taken = claim(ann, item)
    for wanted, code in (
        ({"reason": "  "}, "reason-missing"),
        ({"reason": "x" * 1001}, "reason-too-long"),
        ({"hours": -1}, "past"),
        ({"hours": 24 * 93}, "too-far"),
    ):
        with pytest.raises(Refusal) as refused:
            snooze(ann, taken, **wanted)  # type: ignore[arg-type]  # one of the two each time
        assert refused.value.code == code
    lapse(item)
    with pytest.raises(Refusal) as refused:
        snooze(ann, taken)
    assert refused.value.code == "claim-lost"
    assert Payout.objects.get(pk=item.pk).snoozed_until is None
    with pytest.raises(NotPermitted):
        snooze(make_person(roles=("analyst",)), taken)


def test_a_refused_act_stands_in_the_items_history(tenant: Tenant, make_person: Callable[..., User]) -> None:
    item = make_payout(tenant, score=9)
    ann, ben = make_person(), make_person()
    claim(ann, item)
    with pytest.raises(Refusal):
        claim(ben, item)
    event = AuditEvent.objects.filter(target=item.target).latest("id")
    assert (event.act, event.outcome, event.code) == ("item.claim", "refused", "held")


@pytest.mark.parametrize(
    ("now", "zone", "name", "right"),
    [
        (datetime(2026, 3, 27, 20, tzinfo=UTC), "Europe/Berlin", "tomorrow", datetime(2026, 3, 28, 8, tzinfo=UTC)),
        (datetime(2026, 3, 28, 20, tzinfo=UTC), "Europe/Berlin", "tomorrow", datetime(2026, 3, 29, 7, tzinfo=UTC)),
        (datetime(2026, 3, 30, 5, tzinfo=UTC), "Europe/Berlin", "monday", datetime(2026, 4, 6, 7, tzinfo=UTC)),
        (datetime(2026, 6, 1, 23, 30, tzinfo=UTC), "Asia/Tokyo", "tomorrow", datetime(2026, 6, 3, 0, tzinfo=UTC)),
        (datetime(2026, 6, 1, 12, tzinfo=UTC), "UTC", "hour", datetime(2026, 6, 1, 13, tzinfo=UTC)),
    ],
)
def test_the_usual_choices_are_in_the_readers_zone(now: datetime, zone: str, name: str, right: datetime) -> None:
    with timezone.override(zone):
        assert setting_aside.chosen(preset=name, typed="", now=now) == right
        assert setting_aside.chosen(preset="", typed="2026-07-01T09:00", now=now).utcoffset() is not None
        with pytest.raises(Refusal, match="no-time"):
            setting_aside.chosen(preset="", typed="soon", now=now)
