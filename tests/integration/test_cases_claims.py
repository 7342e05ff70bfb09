"""Faults of other systems' queues: two people with one item, a lock that never ends, an uneven share."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection

from backoffice import commands
from backoffice.commands import Actor
from backoffice.errors import Refusal
from backoffice.tenants.models import Tenant, User
from queues import acting, away, claiming, sharing
from queues.base import Claim, RoundRobin, queues
from queues.models import Payout, Rotation
from queues.sweeping import sweep_queue
from tests.integration.test_claiming import in_threads, make_payout
from tests.making_items import make_payouts

MINUTE = timedelta(seconds=60)


def next_of(person: User) -> int:
    data = claiming.claim_next(actor=Actor.person(person), queue="payouts", key=uuid4().hex).data
    return int(data["item_id"])


def age_the_claim(item: Payout, by: timedelta) -> None:
    """Let a hold be so much older by the database's clock."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE queues_payout SET claimed_at = clock_timestamp() - %s, "
            "lease_until = clock_timestamp() - %s + interval '60 s' WHERE id = %s",
            [by, by, item.pk],
        )


@pytest.mark.case("QC-01")
def test_two_people_never_take_one_item(tenant: Tenant, make_person: Callable[..., User]) -> None:
    first, second = make_payout(tenant, score=2), make_payout(tenant, score=1)
    ann, ben, cem = make_person(), make_person(), make_person()
    assert (next_of(ann), next_of(ben)) == (first.pk, second.pk)
    with pytest.raises(Refusal) as refused:
        next_of(cem)
    assert refused.value.code == "nothing-free"


@pytest.mark.case("QC-01")
def test_fifty_people_at_once_take_fifty_items(tenant: Tenant, make_person: Callable[..., User]) -> None:
    made = make_payouts(tenant=tenant, count=50)
    people = [make_person() for _ in range(50)]
    taken: list[int] = []
    in_threads(50, lambda number: taken.append(next_of(people[number])))
    assert sorted(taken) == sorted(item.pk for item in made)
    assert Payout.objects.values("claim_holder").distinct().count() == 50


@pytest.mark.case("QC-02")
def test_a_claim_of_sixty_seconds_ends_at_sixty_seconds(
    tenant: Tenant, make_person: Callable[..., User], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(queues.get("payouts")), "claim", Claim.required(lease=MINUTE, max_held=5))
    item = make_payout(tenant)
    first, second = make_person(), make_person(name="Ben Okafor")
    held = claiming.claim_next(actor=Actor.person(first), queue="payouts", key=uuid4().hex).data
    age_the_claim(item, timedelta(seconds=59))
    with pytest.raises(Refusal) as refused:
        next_of(second)
    assert refused.value.code == "nothing-free"
    age_the_claim(item, timedelta(seconds=61))
    assert next_of(second) == item.pk
    with pytest.raises(Refusal) as late:
        acting.act(
            actor=Actor.person(first),
            action=queues.get("payouts").action("approve"),
            item_id=item.pk,
            token=held["token"],
            version=None,
            reason="",
            key=uuid4().hex,
        )
    assert late.value.code == "claim-lost" and "Ben Okafor holds this item until" in str(late.value.message)


@pytest.fixture
def shared_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let payouts be given out on arrival, four to a person."""
    queue = type(queues.get("payouts"))
    monkeypatch.setattr(queue, "claim", Claim.required(lease=timedelta(hours=1), max_held=4))
    monkeypatch.setattr(queue, "assign", RoundRobin(), raising=False)


def share(_number: int = 0) -> None:
    actor = Actor.system("schedules", acting_for="a sweep")
    commands.dispatch(sweep_queue, actor=actor, key=uuid4().hex, queue="payouts")


def held_by(people: list[User]) -> list[int]:
    return [Payout.objects.filter(claim_holder=one).count() for one in people]


@pytest.mark.case("QC-09")
@pytest.mark.usefixtures("shared_out")
def test_four_each_and_the_thirteenth_waits(tenant: Tenant, make_person: Callable[..., User]) -> None:
    people = [make_person(name=name) for name in "ABC"]
    make_payouts(tenant=tenant, count=12)
    in_threads(3, share)
    assert held_by(people) == [4, 4, 4]
    last = make_payout(tenant, reference="thirteenth")
    share()
    assert held_by(people) == [4, 4, 4]
    assert Payout.objects.get(pk=last.pk).claim_holder is None


@pytest.mark.case("QC-14")
@pytest.mark.usefixtures("shared_out")
def test_who_is_passed_over_is_passed_over_for_good_in_that_turn(
    tenant: Tenant, make_person: Callable[..., User]
) -> None:
    ann, ben, cem, dee = [make_person(name=name) for name in "ABCD"]
    away.leave(actor=Actor.person(ben), person=ben.pk, until=None, note="once a quarter", key=uuid4().hex)
    given: list[Any] = []
    for number in range(4):
        item = make_payout(tenant, reference=f"P-{number}")
        share()
        given.append(Payout.objects.get(pk=item.pk).claim_holder)
        if number == 2:
            assert sharing.head(queues.get("payouts")) == ann
    assert given == [ann, cem, dee, ann] and Rotation.objects.count() == 1
