"""The supervisor's page: figures that add up, the past by hour, who carries what."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from uuid import uuid4

from django.utils import timezone

from backoffice.commands import Actor
from backoffice.tenants.models import Tenant
from queues import acting, claiming, overview, tallying
from queues.base import queues
from queues.models import Dispute, Payout
from tests.making_items import make_dispute, make_payouts


def test_free_held_and_snoozed_add_up_to_the_open_items_and_to_their_ages(
    tenant: Tenant, make_person: Callable[..., Any]
) -> None:
    made = make_payouts(tenant=tenant, count=9)
    now, person = timezone.now(), make_person()
    Payout.objects.filter(pk=made[0].pk).update(
        claim_holder=person, claimed_at=now, lease_until=now + timedelta(minutes=5)
    )
    Payout.objects.filter(pk=made[1].pk).update(
        claim_holder=person, claimed_at=now, lease_until=now - timedelta(minutes=5)
    )
    Payout.objects.filter(pk=made[2].pk).update(snoozed_until=now + timedelta(hours=1))
    Payout.objects.filter(pk=made[3].pk).update(state="approved")
    found = overview.standing(queue=queues.get("payouts"))
    assert (found.open.number, found.free.number, found.held.number, found.snoozed.number) == (8, 6, 1, 1)
    assert sum(count.number for count in found.ages) == 8 and not found.open.capped
    assert found.oldest == min(one.opened_at for one in made if one.pk != made[3].pk)
    assert [item.pk for item in overview.lapsing(queue=queues.get("payouts"), now=found.as_of)] == [made[0].pk]


def test_the_past_counts_what_happened_and_who_did_it(tenant: Tenant, make_person: Callable[..., Any]) -> None:
    queue, person = queues.get("disputes"), make_person(name="Ada")
    for _number in range(3):
        item = make_dispute(tenant=tenant)
        Dispute.objects.filter(pk=item.pk).update(loaded_at=timezone.now() - timedelta(hours=3))
        held = claiming.claim(actor=_actor(person), queue="disputes", item_id=item.pk, key=uuid4().hex)
    acting.act(
        actor=_actor(person),
        action=queue.action("resolve"),
        item_id=item.pk,
        token=held.data["token"],
        version=None,
        reason="",
        key=uuid4().hex,
    )
    lapsed = Dispute.objects.filter(claim_holder=person).first()
    Dispute.objects.filter(pk=lapsed.pk).update(lease_until=timezone.now() - timedelta(minutes=1))
    past = overview.past(queue=queue, now=timezone.now())
    assert past.counts == {"arrived": 3, "claimed": 3, "decided": 1, "lapsed": 1}
    assert (past.share("lapsed"), past.share("skipped"), past.unswept) == ("33%", "0%", 1)
    assert all(timedelta(hours=3) <= part < timedelta(hours=3, minutes=5) for part in past.times["claimed"])
    loads = [(load.name, load.held, load.claimed, load.lapsed, load.decided) for load in past.people]
    assert loads == [("Ada", 1, 3, 1, 1)]
    assert len(past.hours) == overview.HOURS
    assert sum(arrived for _h, arrived, _d in past.hours) == 3 and past.hours[-1][2] == 1


def test_a_hold_that_lapsed_counts_once_whoever_ends_it(tenant: Tenant, make_person: Callable[..., Any]) -> None:
    queue, first, second = queues.get("disputes"), make_person(name="Ada"), make_person(name="Ben")
    item = make_dispute(tenant=tenant)
    claiming.claim(actor=_actor(first), queue="disputes", item_id=item.pk, key=uuid4().hex)
    Dispute.objects.filter(pk=item.pk).update(lease_until=timezone.now() - timedelta(minutes=1))
    before = overview.past(queue=queue, now=timezone.now())
    assert (before.counts["lapsed"], before.unswept) == (1, 1)
    claiming.claim(actor=_actor(second), queue="disputes", item_id=item.pk, key=uuid4().hex)
    after = overview.past(queue=queue, now=timezone.now())
    assert (after.counts["lapsed"], after.counts["claimed"], after.unswept) == (1, 2, 0)
    assert {load.name: load.lapsed for load in after.people} == {"Ada": 1, "Ben": 0}


def test_kept_tallies_say_what_the_events_say(tenant: Tenant, make_person: Callable[..., Any]) -> None:
    queue, person = queues.get("disputes"), make_person(name="Ada")
    for _number in range(4):
        item = make_dispute(tenant=tenant)
        claiming.claim(actor=_actor(person), queue="disputes", item_id=item.pk, key=uuid4().hex)
    later = timezone.now() + timedelta(hours=1)
    read = tallying.counted(queue=queue, since=later - timedelta(hours=40), before=later)
    tallying._keep(queue, tallying.floor(later - timedelta(hours=40)), tallying.floor(later))
    kept = [
        (quarter, found) for quarter, found in tallying.kept(queue=queue, since=later - timedelta(hours=40)) if found
    ]
    assert kept == read and sum(found["counts"].get("claimed", 0) for _quarter, found in kept) == 4


def test_hours_of_a_clock_change_are_each_there_once(tenant: Tenant) -> None:
    tenant.time_zone = "Europe/Berlin"
    past = overview.past(queue=queues.get("reviews"), now=datetime(2026, 10, 25, 12, 30, tzinfo=UTC))
    instants = [hour.timestamp() for hour, _a, _d in past.hours]
    assert [after - before for before, after in pairwise(instants)] == [3600] * 47


def test_only_a_supervisor_opens_the_page(
    tenant: Tenant, make_person: Callable[..., Any], client_for: Callable[..., Any]
) -> None:
    make_payouts(tenant=tenant)
    address = f"/t/{tenant.slug}/queues/payouts/overview/"
    assert client_for(make_person()).get(address).status_code == 403
    page = client_for(make_person(roles=("supervisor",))).get(address)
    assert page.status_code == 200 and "= free + held + snoozed" in page.content.decode()


def _actor(person: Any) -> Any:
    return Actor.person(person)
