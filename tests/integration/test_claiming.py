"""No item has two holders, a lapsed claim returns by itself, and the cap cannot be raced."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from contextvars import copy_context
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection

from backoffice.audit.models import AuditEvent
from backoffice.commands import Actor
from backoffice.errors import NotPermitted, Refusal
from backoffice.tenants import scope
from backoffice.tenants.models import Membership, Tenant, User
from queues import ClaimMode, acting, claiming, listing, queues
from queues.models import AccountReview, Dispute, Payout

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)


def make_payout(tenant: Tenant, **wanted: Any) -> Payout:
    known = {
        "reference": uuid4().hex[:12],
        "opened_at": NOON,
        "beneficiary": "Ada",
        "account": "A-1",
        "amount": Decimal("10"),
        "currency": "GBP",
    }
    if wanted.get("score") is not None:
        known |= {"score_version": 1, "scored_at": NOON}
    return Payout.objects.create(tenant=tenant, **{**known, **wanted})


def claim(person: User, item: Any, queue: str = "payouts") -> dict[str, Any]:
    return claiming.claim(actor=Actor.person(person), queue=queue, item_id=item.pk, key=uuid4().hex).data


def claim_next(person: User, queue: str = "payouts") -> dict[str, Any]:
    return claiming.claim_next(actor=Actor.person(person), queue=queue, key=uuid4().hex).data


def lapse(item: Any) -> None:
    """Let the item's lease end a second ago, by the database's clock."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {item._meta.db_table} SET lease_until = clock_timestamp() - interval '1 second',"
            " claimed_at = clock_timestamp() - interval '1 hour' WHERE id = %s",
            [item.pk],
        )


def in_threads(count: int, work: Callable[[int], None]) -> None:
    """Run the work at once in so many threads, each on a connection of its own; raise what one raised."""
    raised: list[BaseException] = []
    gate = threading.Barrier(count)

    def run(number: int) -> None:
        try:
            gate.wait()
            work(number)
        except BaseException as error:
            raised.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=copy_context().run, args=(run, n)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]


@pytest.mark.proves("jobs#state-the-claim-mode")
def test_every_queue_states_its_claim_mode() -> None:
    stated = {queue.name: queue.claims.mode for queue in queues}
    assert stated["payouts"] is stated["disputes"] is ClaimMode.REQUIRED
    assert stated["reviews"] is ClaimMode.OPTIONAL


def test_twenty_people_claim_two_hundred_items_and_none_has_two_holders(
    tenant: Tenant, make_person: Callable[..., User], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(200):
        make_payout(tenant, score=number % 90)
    people = [make_person() for _ in range(20)]
    monkeypatch.setattr(type(queues.get("payouts")), "claim", _roomy(200))
    taken: list[tuple[int, int]] = []
    ends: list[str] = []

    def work(number: int) -> None:
        while True:
            try:
                taken.append((claim_next(people[number])["item_id"], people[number].pk))
            except Refusal as refusal:
                ends.append(refusal.code)
                return

    in_threads(20, work)
    assert ends == ["nothing-free"] * 20
    assert len(taken) == 200 and max(Counter(item for item, _ in taken).values()) == 1
    assert set(Payout.objects.values_list("pk", "claim_holder")) == set(taken)
    assert set(Payout.objects.values_list("claim_token", flat=True)) == {1}
    assert AuditEvent.objects.filter(act="item.claim-next", outcome="done").count() == 200


def _roomy(max_held: int) -> Any:
    from queues import Claim

    return Claim.required(lease=timedelta(hours=1), max_held=max_held)


def test_fifty_takers_of_free_and_lapsed_items_all_get_one(tenant: Tenant, make_person: Callable[..., User]) -> None:
    gone = make_person()
    for number in range(8):
        item = make_payout(tenant, score=number)
        if number % 2:
            Payout.objects.filter(pk=item.pk).update(claim_holder=gone, claimed_at=NOON, lease_until=NOON)
    people = [make_person() for _ in range(8)]
    taken: list[int] = []
    in_threads(8, lambda number: taken.append(claim_next(people[number])["item_id"]))
    assert sorted(taken) == sorted(Payout.objects.values_list("pk", flat=True))


@pytest.mark.proves("jobs#order-queue-items-by-score")
def test_claim_next_follows_the_list(tenant: Tenant, make_person: Callable[..., User]) -> None:
    unscored = make_payout(tenant, opened_at=NOON - timedelta(days=99))
    zero = make_payout(tenant, score=0)
    top = make_payout(tenant, score=90)
    young = make_payout(tenant, score=55, opened_at=NOON)
    old = make_payout(tenant, score=55, opened_at=NOON - timedelta(days=1))
    right = [top.pk, old.pk, young.pk, zero.pk, unscored.pk]
    listed = listing.page(queue=queues.get("payouts"), filters={})
    assert [item.pk for item in listed.items] == right
    person = make_person()
    assert [claim_next(person)["item_id"] for _ in range(5)] == right


@pytest.mark.proves("jobs#order-unscored-queues-by-age")
def test_a_queue_without_a_score_lists_the_oldest_first(tenant: Tenant, make_person: Callable[..., User]) -> None:
    assert queues.get("reviews").rule is None
    made = [
        AccountReview.objects.create(
            tenant=tenant, reference=f"R{days}", holder="Ada", country="GB", opened_at=NOON - timedelta(days=days)
        )
        for days in (2, 9, 5)
    ]
    right = [made[1].pk, made[2].pk, made[0].pk]
    assert [item.pk for item in listing.page(queue=queues.get("reviews"), filters={}).items] == right
    person = make_person()
    assert [claim_next(person, "reviews")["item_id"] for _ in range(3)] == right


@pytest.mark.proves("jobs#release-claims-past-their-lease")
def test_claim_next_takes_over_a_lapsed_claim_and_the_late_holder_is_refused(
    tenant: Tenant, make_person: Callable[..., User]
) -> None:
    late, prompt = make_person(name="Late Lea"), make_person(name="Prompt Pia")
    item = make_payout(tenant, score=1)
    old = claim_next(late)
    with pytest.raises(Refusal) as held:
        claim_next(prompt)
    assert held.value.code == "nothing-free" and "1 is held by others" in str(held.value.message)
    lapse(item)
    new = claim_next(prompt)
    assert new["item_id"] == item.pk and new["token"] == old["token"] + 1
    for attempt in (
        lambda: decide(acting.approve_payout, late, item, token=old["token"]),
        lambda: claiming.renew(
            actor=Actor.person(late), queue="payouts", item_id=item.pk, token=old["token"], key=uuid4().hex
        ),
        lambda: claiming.release(
            actor=Actor.person(late), queue="payouts", item_id=item.pk, token=old["token"], key=uuid4().hex
        ),
    ):
        with pytest.raises(Refusal) as refused:
            attempt()
        assert refused.value.code == "claim-lost" and "Prompt Pia holds this item until" in str(refused.value.message)
    assert decide(acting.approve_payout, prompt, item, token=new["token"])["state"] == "approved"


def decide(command: Any, person: User, item: Any, **arguments: Any) -> dict[str, Any]:
    from backoffice import commands

    return commands.dispatch(command, actor=Actor.person(person), key=uuid4().hex, item_id=item.pk, **arguments).data


@pytest.mark.proves("jobs#release-claims-past-their-lease")
def test_a_lapsed_claim_acts_no_more_even_when_nobody_took_it(tenant: Tenant, make_person: Callable[..., User]) -> None:
    person = make_person()
    item = make_payout(tenant)
    token = claim(person, item)["token"]
    lapse(item)
    with pytest.raises(Refusal) as refused:
        decide(acting.approve_payout, person, item, token=token)
    assert refused.value.code == "claim-lost" and "nobody holds it" in str(refused.value.message)
    assert claim(person, item)["token"] == token + 1


def test_the_cap_cannot_be_raced(tenant: Tenant, make_person: Callable[..., User]) -> None:
    person = make_person()
    for number in range(20):
        make_payout(tenant, score=number)
    refused: list[str] = []

    def work(_number: int) -> None:
        try:
            claim_next(person)
        except Refusal as refusal:
            refused.append(refusal.code)

    in_threads(10, work)
    assert Payout.objects.filter(claim_holder=person).count() == 5
    assert refused == ["cap-reached"] * 5


def test_claiming_again_keeps_the_token_and_another_is_told_who_holds(
    tenant: Tenant, make_person: Callable[..., User]
) -> None:
    person, other = make_person(name="Ada Holder"), make_person()
    item = make_payout(tenant)
    first, again = claim(person, item), claim(person, item)
    assert first["token"] == again["token"] == 1 and again["lease_until"] >= first["lease_until"]
    with pytest.raises(Refusal) as refused:
        claim(other, item)
    assert refused.value.code == "held" and str(refused.value.message).startswith("Ada Holder holds this item until")


def test_renewing_never_passes_the_longest_hold(tenant: Tenant, make_person: Callable[..., User]) -> None:
    person = make_person()
    item = make_payout(tenant)
    token = claim(person, item)["token"]
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE queues_payout SET claimed_at = clock_timestamp() - interval '7 hours 50 minutes',"
            " lease_until = clock_timestamp() + interval '1 minute'"
        )
    renewed = claiming.renew(actor=Actor.person(person), queue="payouts", item_id=item.pk, token=token, key=uuid4().hex)
    item.refresh_from_db()
    assert item.lease_until == item.claimed_at + timedelta(hours=8)
    assert renewed.data["lease_until"] == item.lease_until.isoformat()


def test_releasing_gives_the_item_back_at_once(tenant: Tenant, make_person: Callable[..., User]) -> None:
    person, other = make_person(), make_person()
    item = make_payout(tenant)
    token = claim(person, item)["token"]
    claiming.release(actor=Actor.person(person), queue="payouts", item_id=item.pk, token=token, key=uuid4().hex)
    assert claim_next(other)["token"] == token + 1


def test_only_people_of_the_queue_and_of_the_tenant_claim(
    tenant: Tenant, other_tenant: Tenant, make_person: Callable[..., User]
) -> None:
    item = make_payout(tenant)
    for person in (make_person(roles=("finance",)), make_person(tenant=other_tenant)):
        with pytest.raises(NotPermitted):
            claim(person, item)
    outsider = make_person(tenant=other_tenant)
    with scope.open(other_tenant), pytest.raises(Refusal) as refused:
        claim(outsider, item)
    assert refused.value.code == "gone"
    Membership.objects.filter(user=outsider).delete()
    assert Payout.objects.get().claim_holder is None


def test_two_clicks_of_one_form_claim_one_item(tenant: Tenant, make_person: Callable[..., User]) -> None:
    person = make_person()
    for number in range(3):
        make_payout(tenant, score=number)
    actor = Actor.person(person)
    once = claiming.claim_next(actor=actor, queue="payouts", key="form-1")
    twice = claiming.claim_next(actor=actor, queue="payouts", key="form-1")
    assert twice.replayed and twice.data == once.data
    assert Payout.objects.filter(claim_holder=person).count() == 1


def test_an_empty_queue_says_so(tenant: Tenant, make_person: Callable[..., User]) -> None:
    with pytest.raises(Refusal) as refused:
        claim_next(make_person(), "disputes")
    assert str(refused.value.message) == "Nothing is waiting in this queue."
    assert Dispute.objects.count() == 0


def test_pages_follow_one_another_without_gap_or_repeat(tenant: Tenant) -> None:
    for number in range(47):
        make_payout(tenant, score=None if number % 6 == 0 else number % 4, opened_at=NOON - timedelta(days=number % 3))
    queue = queues.get("payouts")
    whole = [item.pk for item in listing.page(queue=queue, filters={}, size=100).items]
    assert len(whole) == 47
    seen, pages, after = [], [], ""
    while True:
        shown = listing.page(queue=queue, filters={}, after=after, size=10)
        pages.append(shown)
        seen += [item.pk for item in shown.items]
        if not shown.after:
            break
        after = shown.after
    assert seen == whole and len(pages) == 5
    back = pages[-1]
    for earlier in reversed(pages[:-1]):
        back = listing.page(queue=queue, filters={}, before=back.before, size=10)
        assert [item.pk for item in back.items] == [item.pk for item in earlier.items]
    assert back.before == ""
    assert str(listing.count(queue=queue, filters={}, cap=40)) == "40+"
    for nonsense in ("%%%", "bnVsbA", "WzEsMl0", "W10"):
        assert [i.pk for i in listing.page(queue=queue, filters={}, after=nonsense, size=100).items] == whole


def test_the_lists_filters_narrow_it_and_take_any_text(tenant: Tenant, make_person: Callable[..., User]) -> None:
    queue, person = queues.get("payouts"), make_person()
    free = make_payout(tenant, currency="JPY", beneficiary="100% Señor_O'Neill")
    mine = make_payout(tenant, score=3)
    lapsed = make_payout(tenant, score=2)
    make_payout(tenant, state="approved", reference="PO-1")
    for item in (mine, lapsed):
        claim(person, item)
    lapse(lapsed)

    def found(**filters: str) -> list[int]:
        return [item.pk for item in listing.page(queue=queue, filters=filters, person=person).items]

    assert found() == [mine.pk, lapsed.pk, free.pk]
    assert found(currency="JPY") == found(q="100% señor_o'n") == [free.pk]
    assert found(claim="mine") == found(claim="held") == [mine.pk]
    assert found(claim="free") == [lapsed.pk, free.pk]
    assert len(found(state="approved")) == 1 and found(state="approved", q="po-1") != []
    assert found(state="nonsense") == found(currency="' OR 1=1 --") == found(q="%")[:0] == []
    assert found(colour="red", q="\x00") == found()
    assert str(listing.count(queue=queue, filters={"claim": "free"}, person=person)) == "2"
