"""One thing done to many items: each by itself, the counts add up, all across pages means all."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from backoffice.commands import Actor
from backoffice.errors import Refusal
from backoffice.tenants.models import Tenant, User
from queues import bulk, clocks, queues
from queues.models import Payout
from tests import factories
from tests.integration.test_claiming import claim, in_threads, make_payout
from tests.integration.test_queue_pages import LIST, page, post


def run(person: User, items: list[Any], act: str, **wish: Any) -> list[str]:
    for item in items:
        item.refresh_from_db()
    answers = bulk.run(
        actor=Actor.person(person),
        queue=queues.get("payouts"),
        items=items,
        wish=bulk.Wish(act=act, **wish),
        key=uuid4().hex,
    )
    assert [answer.item.pk for answer in answers] == [item.pk for item in items]
    return [answer.refused for answer in answers]


@pytest.fixture
def sue(make_person: Callable[..., User]) -> User:
    return make_person(name="Sue Stone", roles=("supervisor",))


@pytest.mark.parametrize("bad", [0, 2, 4])
def test_a_failing_item_never_stops_the_others(
    tenant: Tenant, make_person: Callable[..., User], sue: User, bad: int
) -> None:
    items = [make_payout(tenant) for _ in range(5)]
    ann, ben = make_person(name="Ann"), make_person()
    claim(ann, items[bad])
    refused = run(sue, items, "assign", to=(ben.pk,))
    assert [number for number, words in enumerate(refused) if words] == [bad]
    assert refused[bad].startswith("Ann holds this item until ")
    assert Payout.objects.filter(claim_holder=ben).count() == 4


def test_assigning_stops_at_the_cap_and_says_so(tenant: Tenant, make_person: Callable[..., User], sue: User) -> None:
    ben = make_person(name="Ben")
    refused = run(sue, [make_payout(tenant) for _ in range(7)], "assign", to=(ben.pk,))
    assert refused == [""] * 5 + ["Ben already holds 5 items, the most allowed here."] * 2


def test_snooze_and_release_follow_what_the_person_may(
    tenant: Tenant, make_person: Callable[..., User], sue: User
) -> None:
    ann, ben = make_person(name="Ann"), make_person(name="Ben")
    mine, theirs, loose = [make_payout(tenant) for _ in range(3)]
    claim(ann, mine)
    claim(ben, theirs)
    later = clocks.database_now() + timedelta(hours=1)
    assert run(ann, [mine, theirs, loose], "release") == ["", "You may not do this.", "Nobody holds it."]
    claim(ann, mine)
    refused = run(ann, [mine, theirs, loose], "snooze", until=later, reason="bank holiday")
    assert refused[0] == "" and refused[1].startswith("Ben holds") and refused[2] == "Claim this item first."
    assert run(sue, [loose], "snooze", until=later, reason="bank holiday") == [""]
    assert run(sue, [theirs], "release", reason="") == ["Give a reason."]
    assert run(sue, [theirs], "release", reason="Ben left") == [""]
    assert Payout.objects.filter(snoozed_until__isnull=False).count() == 2


def test_everything_that_matches_across_pages_is_chosen_and_handled(
    tenant: Tenant, sue: User, client_for: Callable[..., Client]
) -> None:
    for number in range(120):
        make_payout(tenant, score=number, currency="EUR")
    make_payout(tenant, currency="GBP")
    client = client_for(sue)
    chosen = page(post(client, f"{LIST}bulk/?currency=EUR", all="1"))
    assert "120 items chosen" in chosen and "Snooze 120 items" in chosen
    ids = re.search(r'name="ids" value="([\d,]+)"', chosen)
    assert ids is not None and len(ids[1].split(",")) == 120
    answer = post(
        client, f"{LIST}bulk/?currency=EUR", act="snooze", ids=ids[1], preset="hour", reason="the bank is closed"
    )
    assert "120 of 120 items done" in page(answer)
    assert Payout.objects.filter(snoozed_until__isnull=False).count() == 120


def test_the_page_keeps_what_was_typed_and_shows_each_refusal(
    tenant: Tenant, sue: User, make_person: Callable[..., User], client_for: Callable[..., Client]
) -> None:
    items = [make_payout(tenant, reference=f"P-{number}") for number in range(3)]
    claim(make_person(name="Ann <Archer>"), items[1])
    client = client_for(sue)
    ids = ",".join(str(item.pk) for item in items)
    refused = post(client, f"{LIST}bulk/", act="snooze", ids=ids, preset="other", until="", reason="typed <b>")
    assert refused.status_code == 409 and "typed &lt;b&gt;</textarea>" in page(refused)
    shown = page(post(client, f"{LIST}bulk/", act="assign", ids=ids, to=sue.pk))
    assert "2 of 3 items done, 1 refused" in shown
    assert "P-1</a>" in shown and "Ann &lt;Archer&gt; holds this item until" in shown


def test_ids_of_another_tenant_choose_nothing(
    tenant: Tenant, other_tenant: Tenant, client_for: Callable[..., Client]
) -> None:
    item = make_payout(tenant)
    outsider = client_for(factories.make_person(tenant=other_tenant, roles=("supervisor",)))
    for fields in ({"ids[]": str(item.pk)}, {"act": "release", "ids": str(item.pk)}):
        answer = post(outsider, "/t/globex/queues/payouts/bulk/", **fields)
        assert answer.status_code == 409 and "none of those chosen is here" in page(answer)
    auditor = client_for(factories.make_person(tenant=tenant, roles=("auditor",)))
    assert post(auditor, f"{LIST}bulk/", **{"ids[]": str(item.pk)}).status_code == 403
    assert post(Client(), f"{LIST}bulk/", **{"ids[]": str(item.pk)}).status_code == 302
    assert post(outsider, "/t/globex/queues/payouts/bulk/", **{"ids[]": "1; DROP"}).status_code == 400


def test_more_than_the_most_is_refused_and_not_cut(tenant: Tenant, sue: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "MOST", 3)
    for _ in range(4):
        make_payout(tenant)
    with pytest.raises(Refusal, match="too-many"):
        bulk.choose(queue=queues.get("payouts"), filters={}, person=sue, ids=[], everything=True)


def test_a_bulk_form_sent_twice_acts_once(tenant: Tenant, sue: User, make_person: Callable[..., User]) -> None:
    item, ben = make_payout(tenant), make_person()
    for _ in range(2):
        answers = bulk.run(
            actor=Actor.person(sue),
            queue=queues.get("payouts"),
            items=[item],
            wish=bulk.Wish(act="assign", to=(ben.pk,)),
            key="one",
        )
        assert answers[0].refused == ""
    assert Payout.objects.get(pk=item.pk).claim_token == 1


def test_a_share_out_is_even_and_never_goes_over_the_cap(
    tenant: Tenant, make_person: Callable[..., User], sue: User
) -> None:
    people = [make_person(name=name) for name in "ABC"]
    refused = run(sue, [make_payout(tenant) for _ in range(16)], "assign", to=tuple(one.pk for one in people))
    assert refused[:15] == [""] * 15 and "the most allowed here" in refused[15]
    assert [Payout.objects.filter(claim_holder=one).count() for one in people] == [5, 5, 5]


def test_a_person_who_is_passed_over_does_not_get_the_turn_after_twice(
    tenant: Tenant, make_person: Callable[..., User], sue: User
) -> None:
    ann, ben, cem, dee = [make_person(name=name) for name in "ABCD"]
    items = [make_payout(tenant) for _ in range(4)]
    assert run(sue, items, "assign", to=(ann.pk, cem.pk, dee.pk)) == [""] * 4
    holders = [Payout.objects.get(pk=item.pk).claim_holder for item in items]
    assert holders == [ann, cem, dee, ann] and ben not in holders


def test_two_share_outs_at_once_keep_to_the_cap(tenant: Tenant, make_person: Callable[..., User], sue: User) -> None:
    people = tuple(make_person(name=name).pk for name in "AB")
    items = [make_payout(tenant) for _ in range(12)]
    in_threads(2, lambda number: run(sue, items[number * 6 : number * 6 + 6], "assign", to=people))
    assert [Payout.objects.filter(claim_holder=one).count() for one in people] == [5, 5]
