"""One thing done to many items: each by itself, the counts add up, all across pages means all."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from backoffice import commands
from backoffice.audit.models import AuditEvent
from backoffice.commands import Actor
from backoffice.errors import Refusal
from backoffice.tenants.models import Tenant, User
from queues import bulk, bulk_running, clocks, handing, listing, noting
from queues.models import BulkLine, BulkRun, Payout
from tests import factories
from tests.integration.test_claiming import claim, in_threads, make_payout
from tests.integration.test_queue_pages import LIST, page, post


def run(person: User, items: list[Any], act: str, **wish: Any) -> list[str]:
    """Choose the items, start the run, do it in the test's process; return each item's refusal, or ""."""
    run_id = begin(person, items, act, **wish)
    bulk_running.run_now(run_id=run_id)
    lines = {line.item_id: line for line in BulkLine.objects.filter(run=run_id)}
    assert BulkRun.objects.get(pk=run_id).state == "ended" and len(lines) == len(items)
    return [lines[item.pk].words for item in items]


def begin(person: User, items: list[Any], act: str, **wish: Any) -> int:
    actor = Actor.person(person)
    chosen = {"queue": "payouts", "filters": {}, "everything": False, "suffix": ""}
    ids = [item.pk for item in items]
    run_id = int(bulk.choose(actor=actor, ids=ids, key=uuid4().hex, **chosen).data["run_id"])
    bulk.start(actor=actor, run_id=run_id, wish=bulk.Wish(act=act, **wish), key=uuid4().hex)
    return run_id


def choose_on_page(client: Client, address: str, **fields: Any) -> tuple[str, str]:
    """Post a choice from the list; return the address of its run and its page."""
    answer = post(client, address, **fields)
    assert answer.status_code == 303, page(answer)
    return answer["Location"], page(client.get(answer["Location"]))


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


@pytest.mark.case("AU-02")
def test_all_three_hundred_across_pages_are_chosen_and_handled(
    tenant: Tenant, sue: User, client_for: Callable[..., Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "PAGE", 100)
    monkeypatch.setattr(bulk, "IN_REQUEST", 300)
    for number in range(300):
        make_payout(tenant, score=number, currency="EUR")
    make_payout(tenant, currency="GBP")
    client = client_for(sue)
    shown = page(client.get(f"{LIST}?currency=EUR"))
    lower = shown.index("</table>")
    assert re.search(r'form="selection" name="all" value="1"', shown[lower:]) and "all 300 that match" in shown[lower:]
    address, chosen = choose_on_page(client, f"{LIST}bulk/?currency=EUR", all="1")
    assert "300 items chosen" in chosen and "Snooze 300 items" in chosen
    make_payout(tenant, currency="EUR")  # it came after the choice
    answer = post(client, f"{address}start/", act="snooze", preset="hour", reason="the bank is closed")
    assert "300 of 300 items done" in page(client.get(answer["Location"]))
    assert Payout.objects.filter(snoozed_until__isnull=False).count() == 300


@pytest.mark.case("AU-06")
def test_an_item_that_matches_many_times_is_listed_and_acted_on_once(
    tenant: Tenant, sue: User, client_for: Callable[..., Client]
) -> None:
    item = make_payout(tenant, reference="LATE-1", beneficiary="Late late Late Ltd")
    for number in range(3):
        noting.note(
            actor=Actor.person(sue), queue="payouts", item_id=item.pk, text=f"late {number}", key=f"note-{number}"
        )
    client = client_for(sue)
    assert page(client.get(f"{LIST}?q=late")).count("LATE-1</a>") == 1
    address, chosen = choose_on_page(client, f"{LIST}bulk/?q=late", all="1")
    assert "1 item chosen" in chosen
    post(client, f"{address}start/", act="snooze", preset="hour", reason="later")
    assert AuditEvent.objects.filter(act="item.snooze", target=item.target, outcome="done").count() == 1


def test_the_page_keeps_what_was_typed_and_shows_each_refusal(
    tenant: Tenant, sue: User, make_person: Callable[..., User], client_for: Callable[..., Client]
) -> None:
    items = [make_payout(tenant, reference=f"P-{number}") for number in range(3)]
    claim(make_person(name="Ann <Archer>"), items[1])
    client = client_for(sue)
    address, _chosen = choose_on_page(client, f"{LIST}bulk/", **{"ids[]": [item.pk for item in items]})
    refused = post(client, f"{address}start/", act="snooze", preset="other", until="", reason="typed <b>")
    assert refused.status_code == 409 and "typed &lt;b&gt;</textarea>" in page(refused)
    shown = page(client.get(post(client, f"{address}start/", act="assign", to=sue.pk)["Location"]))
    assert "2 of 3 items done</strong>, 1 refused" in shown
    assert "P-1</a>" in shown and "Ann &lt;Archer&gt; holds this item until" in shown
    everything = page(client.get(f"{address}?show=all"))
    assert everything.count("given to Sue Stone") == 2
    again = post(client, f"{address}start/", act="release")
    assert again.status_code == 409 and "This was started already" in page(again)


def test_ids_of_another_tenant_choose_nothing(
    tenant: Tenant, other_tenant: Tenant, client_for: Callable[..., Client]
) -> None:
    item = make_payout(tenant)
    outsider = client_for(factories.make_person(tenant=other_tenant, roles=("supervisor",)))
    answer = post(outsider, "/t/globex/queues/payouts/bulk/", **{"ids[]": str(item.pk)})
    assert answer.status_code == 409 and "none of those chosen is here" in page(answer)
    auditor = client_for(factories.make_person(tenant=tenant, roles=("auditor",)))
    assert post(auditor, f"{LIST}bulk/", **{"ids[]": str(item.pk)}).status_code == 403
    assert post(Client(), f"{LIST}bulk/", **{"ids[]": str(item.pk)}).status_code == 302
    assert post(outsider, "/t/globex/queues/payouts/bulk/", **{"ids[]": "1; DROP"}).status_code == 400


def test_a_run_is_read_and_stopped_by_its_person_and_by_supervisors_alone(
    tenant: Tenant,
    other_tenant: Tenant,
    sue: User,
    make_person: Callable[..., User],
    client_for: Callable[..., Client],
) -> None:
    ann, ben = make_person(), make_person()
    item = make_payout(tenant)
    claim(ann, item)
    run_id = begin(ann, [item], "release")
    address = f"{LIST}bulk/{run_id}/"
    outsider = factories.make_person(tenant=other_tenant, roles=("supervisor",))
    assert client_for(ben).get(address).status_code == 404
    assert client_for(outsider).get(f"/t/globex/queues/payouts/bulk/{run_id}/").status_code == 404
    assert client_for(outsider).get(address).status_code == 404
    assert post(client_for(ben), f"{address}halt/").status_code == 404
    assert client_for(sue).get(address).status_code == 200
    assert post(client_for(sue), f"{address}halt/").status_code == 303
    assert "1 not started" in page(client_for(ann).get(address)) and Payout.objects.get(pk=item.pk).claim_holder == ann
    listed = page(client_for(ann).get(f"{LIST}bulk/"))
    assert "Release 1 item" in listed and "Release 1 item" not in page(client_for(ben).get(f"{LIST}bulk/"))


def test_more_than_the_most_is_refused_and_not_cut(tenant: Tenant, sue: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "MOST", 3)
    for _ in range(4):
        make_payout(tenant)
    with pytest.raises(Refusal, match="too-many"):
        choose_all(sue)
    assert not BulkRun.objects.exists() and not BulkLine.objects.exists()


def choose_all(person: User, **filters: str) -> int:
    wanted = {"queue": "payouts", "filters": filters, "ids": [], "everything": True, "suffix": ""}
    return int(bulk.choose(actor=Actor.person(person), key=uuid4().hex, **wanted).data["run_id"])


def test_a_bulk_form_sent_twice_acts_once(
    tenant: Tenant, sue: User, make_person: Callable[..., User], client_for: Callable[..., Client]
) -> None:
    item, ben = make_payout(tenant), make_person()
    client = client_for(sue)
    address, _chosen = choose_on_page(client, f"{LIST}bulk/", **{"ids[]": item.pk})
    for _ in range(2):
        assert post(client, f"{address}start/", act="assign", to=ben.pk, key="one").status_code == 303
    assert Payout.objects.get(pk=item.pk).claim_token == 1


def test_what_changed_since_the_choice_is_left_as_it_is(
    tenant: Tenant, sue: User, make_person: Callable[..., User]
) -> None:
    ann, ben = make_person(name="Ann"), make_person(name="Ben")
    item = make_payout(tenant)
    claim(ann, item)
    run_id = begin(sue, [item], "release", reason="Ann left")
    handing.move(
        actor=Actor.person(sue),
        queue="payouts",
        item_id=item.pk,
        token=Payout.objects.get(pk=item.pk).claim_token,
        to=ben.pk,
        reason="swap",
        key="m",
    )
    bulk_running.run_now(run_id=run_id)
    assert "Who holds this item changed" in BulkLine.objects.get(run=run_id).words
    assert Payout.objects.get(pk=item.pk).claim_holder == ben


def test_a_run_whose_request_died_is_gone_on_with_and_nothing_is_done_twice(
    tenant: Tenant, sue: User, make_person: Callable[..., User]
) -> None:
    ben = make_person()
    items = [make_payout(tenant) for _ in range(4)]
    run_id = begin(sue, items, "assign", to=(ben.pk,))
    first = BulkLine.objects.get(run=run_id, position=1)
    handing.assign(actor=Actor.person(sue), queue="payouts", item_id=first.item_id, to=ben.pk, note="", key=first.key)
    bulk_running.run_now(run_id=run_id)  # the receipt answers for the first
    assert bulk.counts(BulkRun.objects.get(pk=run_id))["done"] == 4
    assert set(Payout.objects.values_list("claim_token", flat=True)) == {1}


def test_a_line_whose_answer_was_lost_is_told_by_its_receipt(
    tenant: Tenant, sue: User, make_person: Callable[..., User]
) -> None:
    ben = make_person()
    run_id = begin(sue, [make_payout(tenant), make_payout(tenant)], "assign", to=(ben.pk,))
    first = BulkLine.objects.get(run=run_id, position=1)
    handing.assign(actor=Actor.person(sue), queue="payouts", item_id=first.item_id, to=ben.pk, note="", key=first.key)
    commands.dispatch(bulk.halt, actor=Actor.person(sue), key="h", run_id=run_id)
    assert list(BulkLine.objects.order_by("position").values_list("state", flat=True)) == ["done", "not_started"]


def test_a_share_out_is_even_and_never_goes_over_the_cap(
    tenant: Tenant, make_person: Callable[..., User], sue: User
) -> None:
    people = [make_person(name=name) for name in "ABC"]
    refused = run(sue, [make_payout(tenant) for _ in range(16)], "assign", to=tuple(one.pk for one in people))
    assert refused[:15] == [""] * 15 and refused[15] == "Everybody chosen is away or holds the most allowed here."
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
