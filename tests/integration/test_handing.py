"""A hand is a new hold of somebody who may work there, within their cap, and the log names everybody."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from backoffice import front
from backoffice.audit.models import AuditEvent
from backoffice.commands import Actor
from backoffice.errors import NotPermitted, Refusal
from backoffice.tenants.models import Tenant, User
from queues import acting, handing, listing, noting, queues, relating
from queues.models import Payout
from tests import factories
from tests.integration.test_claiming import NOON, claim, in_threads, lapse, make_payout
from tests.making_items import make_dispute, make_payouts, make_review


def hand(person: User, taken: dict[str, Any], to: User, note: str = "you know them") -> dict[str, Any]:
    return handing.hand_over(
        actor=Actor.person(person),
        queue="payouts",
        item_id=taken["item_id"],
        token=taken["token"],
        to=to.pk,
        note=note,
        key=uuid4().hex,
    ).data


def move(person: User, item: Any, to: User, *, reason: str = "Ann is ill", token: int | None = None) -> dict[str, Any]:
    item.refresh_from_db()
    return handing.move(
        actor=Actor.person(person),
        queue="payouts",
        item_id=item.pk,
        token=item.claim_token if token is None else token,
        to=to.pk,
        reason=reason,
        key=uuid4().hex,
    ).data


def held_by(person: User) -> list[int]:
    shown = listing.page(queue=queues.get("payouts"), filters={"claim": "mine"}, person=person)
    return [item.pk for item in shown.items]


def approve(person: User, item_id: int, token: int) -> None:
    action = queues.get("payouts").action("approve")
    acting.act(
        actor=Actor.person(person),
        action=action,
        item_id=item_id,
        token=token,
        version=None,
        reason="",
        key=uuid4().hex,
    )


def test_a_hand_over_is_a_new_hold_and_the_old_token_decides_nothing(
    tenant: Tenant, make_person: Callable[..., User]
) -> None:
    item = make_payout(tenant, score=5)
    ann, ben = make_person(name="Ann"), make_person(name="Ben")
    taken = claim(ann, item)
    given = hand(ann, taken, ben)
    assert given["token"] == taken["token"] + 1
    assert (held_by(ann), held_by(ben)) == ([], [item.pk])
    with pytest.raises(Refusal, match="claim-lost"):
        approve(ann, item.pk, taken["token"])
    mine = front.context(person=ben)["mine"]
    assert [(held.item.pk, held.handed) for held in mine] == [(item.pk, ("Ann", "you know them"))]
    approve(ben, item.pk, given["token"])
    assert Payout.objects.get(pk=item.pk).state == "approved"


def test_a_hand_over_goes_to_a_colleague_of_the_queue_alone(
    tenant: Tenant, other_tenant: Tenant, make_person: Callable[..., User]
) -> None:
    item = make_payout(tenant, score=5)
    ann = make_person()
    gone = make_person()
    gone.is_active = False
    gone.save()
    taken = claim(ann, item)
    for stranger in (make_person(roles=("analyst",)), factories.make_person(tenant=other_tenant), gone):
        with pytest.raises(Refusal) as refused:
            hand(ann, taken, stranger)
        assert refused.value.code == "not-a-colleague"
    with pytest.raises(Refusal, match="own-item"):
        hand(ann, taken, ann)
    assert held_by(ann) == [item.pk]
    assert {person.pk for person in handing.workers(queues.get("payouts"))} == {ann.pk}


def test_the_receivers_cap_is_respected_even_in_a_race(tenant: Tenant, make_person: Callable[..., User]) -> None:
    ben = make_person(name="Ben")
    givers = [make_person() for _ in range(4)]
    for _ in range(3):
        claim(ben, make_payout(tenant))
    taken = [claim(giver, make_payout(tenant)) for giver in givers]
    refused: list[str] = []

    def give(number: int) -> None:
        try:
            hand(givers[number], taken[number], ben)
        except Refusal as refusal:
            refused.append(f"{refusal.code}: {refusal.message}")

    in_threads(4, give)
    assert len(held_by(ben)) == 5
    assert refused == ["cap-reached: Ben already holds 5 items, the most allowed here."] * 2


@pytest.mark.case("QC-15")
@pytest.mark.parametrize("lapsed", [False, True])
def test_a_supervisor_moves_a_case_with_a_reason_and_both_lists_and_the_log_agree(
    tenant: Tenant, make_person: Callable[..., User], lapsed: bool
) -> None:
    item = make_payout(tenant, score=5)
    ann, ben, sue = make_person(), make_person(), make_person(roles=("supervisor",))
    claim(ann, item)
    if lapsed:
        lapse(item)
    for reason in ("", "   "):
        with pytest.raises(Refusal) as refused:
            move(sue, item, ben, reason=reason)
        assert refused.value.code == "reason-missing"
    assert held_by(ben) == [] and Payout.objects.get(pk=item.pk).claim_holder == ann
    move(sue, item, ben)
    assert (held_by(ann), held_by(ben)) == ([], [item.pk])
    event = AuditEvent.objects.filter(target=item.target, act="item.move", outcome="done").get()
    assert event.actor_user_id == sue.pk
    result = event.data["result"]
    assert (result["from"], result["to"], result["reason"]) == (None if lapsed else ann.pk, ben.pk, "Ann is ill")


def test_a_supervisor_takes_over_and_never_acts_on_what_changed_meanwhile(
    tenant: Tenant, make_person: Callable[..., User]
) -> None:
    item = make_payout(tenant, score=5)
    ann, ben, sue = make_person(), make_person(), make_person(roles=("supervisor",))
    seen = claim(ann, item)
    hand(ann, seen, ben)
    with pytest.raises(Refusal) as refused:
        move(sue, item, sue, token=seen["token"])
    assert refused.value.code == "changed" and held_by(ben) == [item.pk]
    assert move(sue, item, sue)["token"] == seen["token"] + 2
    assert held_by(sue) == [item.pk]


def test_only_a_supervisor_moves_assigns_and_frees(tenant: Tenant, make_person: Callable[..., User]) -> None:
    item, loose = make_payout(tenant, score=5), make_payout(tenant, score=4)
    ann, ben, sue = make_person(), make_person(), make_person(roles=("supervisor",))
    token = claim(ann, item)["token"]

    def assign(person: User, wanted: Any) -> None:
        handing.assign(
            actor=Actor.person(person), queue="payouts", item_id=wanted.pk, to=ben.pk, note="", key=uuid4().hex
        )

    def free(person: User) -> None:
        handing.free(
            actor=Actor.person(person),
            queue="payouts",
            item_id=item.pk,
            token=token,
            reason="on leave",
            key=uuid4().hex,
        )

    for act in (lambda: move(ben, item, ben), lambda: assign(ben, loose), lambda: free(ben)):
        with pytest.raises(NotPermitted):
            act()
    assert held_by(ann) == [item.pk] and held_by(ben) == []
    assign(sue, loose)
    assert held_by(ben) == [loose.pk]
    with pytest.raises(Refusal, match="held"):
        assign(sue, item)
    free(sue)
    assert held_by(ann) == []
    assert AuditEvent.objects.get(act="item.free", outcome="done").data["result"]["from"] == ann.pk


def test_a_note_is_said_once_by_who_may_work_there(tenant: Tenant, make_person: Callable[..., User]) -> None:
    item = make_payout(tenant)
    ann = make_person()

    def note(person: User, text: str, item_id: int = item.pk) -> None:
        noting.note(actor=Actor.person(person), queue="payouts", item_id=item_id, text=text, key=uuid4().hex)

    note(ann, "<b>Call & ask</b>")
    assert AuditEvent.objects.get(act="item.note").data["arguments"]["text"] == "<b>Call & ask</b>"
    for text, code in ((" ", "note-missing"), ("x" * 2001, "note-too-long")):
        with pytest.raises(Refusal, match=code):
            note(ann, text)
    with pytest.raises(Refusal, match="gone"):
        note(ann, "hello", 10**9)
    with pytest.raises(NotPermitted):
        note(make_person(roles=("auditor",)), "hello")


def test_related_items_come_from_every_queue_that_the_person_may_see(
    tenant: Tenant, make_person: Callable[..., User]
) -> None:
    first, second, *_others = make_payouts(tenant=tenant, count=7, beneficiary="Grace Hopper", account="A-1")
    dispute, review = make_dispute(tenant=tenant), make_review(tenant=tenant)
    make_dispute(tenant=tenant, customer="Somebody Else")
    found = relating.related(queue=queues.get("payouts"), item=first, person=make_person())
    assert {group.title: [i.pk for i in group.items] for group in found if group.queue.name != "payouts"} == {
        "Disputes of Grace Hopper": [dispute.pk],
        "Account reviews of Grace Hopper": [review.pk],
    }
    own = [group for group in found if group.queue.name == "payouts"]
    assert [group.title for group in own] == ["Payouts of Grace Hopper", "Same account: A-1"]
    assert all(len(group.items) == relating.SHOWN and group.more and first not in group.items for group in own)
    analyst = relating.related(queue=queues.get("payouts"), item=second, person=make_person(roles=("finance",)))
    assert {group.queue.name for group in analyst} == {"payouts"}


def test_twins_are_open_equal_and_a_week_apart_at_most(tenant: Tenant) -> None:
    item = make_payout(tenant)
    near = make_payout(tenant, opened_at=NOON - timedelta(days=7))
    for other in (
        {"opened_at": NOON - timedelta(days=8)},
        {"amount": "10.01"},
        {"currency": "EUR"},
        {"account": "A-2"},
        {"state": "approved"},
    ):
        make_payout(tenant, **other)
    assert relating.twins(queue=queues.get("payouts"), item=item) == [near]


def test_the_names_of_the_capped_are_not_told_to_themselves(tenant: Tenant, make_person: Callable[..., User]) -> None:
    ann = make_person()
    for _ in range(5):
        claim(ann, make_payout(tenant))
    with pytest.raises(Refusal) as refused:
        claim(ann, make_payout(tenant))
    assert str(refused.value.message).startswith("You already hold 5 items")
