"""The item's page beside its decision: skip, snooze, hand over, supervise, undo, reopen, note."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from backoffice.audit.models import AuditEvent
from backoffice.tenants.models import Tenant, User
from queues.models import Payout
from tests import factories
from tests.integration.test_queue_pages import LIST, hold, page, post
from tests.making_items import make_payouts, make_review

ACTS = ["skip", "snooze", "wake", "hand-over", "move", "free", "undo", "reopen", "note"]


@pytest.fixture
def staff(make_person: Callable[..., User]) -> User:
    return make_person(name="Ann Archer")


@pytest.fixture
def client(staff: User, client_for: Callable[..., Client]) -> Client:
    return client_for(staff)


def act(client: Client, item: Payout, name: str, **fields: Any) -> Any:
    return post(client, f"{LIST}{item.pk}/{name}/", **fields)


def test_skip_opens_the_next_and_says_when_it_returns(tenant: Tenant, client: Client) -> None:
    items = make_payouts(tenant=tenant, count=2)
    token = hold(client, items[1])
    answer = act(client, items[1], "skip", token=token)
    assert answer["Location"] == f"{LIST}{items[0].pk}/"
    assert "You skipped P-00002; it returns to you at " in page(client.get(answer["Location"]))


def test_snooze_leaves_the_list_of_free_items_and_waking_brings_it_back(tenant: Tenant, client: Client) -> None:
    item = make_payouts(tenant=tenant, count=1)[0]
    token = hold(client, item)
    refused = act(client, item, "snooze", token=token, preset="other", until="soon", reason="Bank <b>closed</b>")
    assert refused.status_code == 409
    assert "Say until when" in page(refused) and "Bank &lt;b&gt;closed&lt;/b&gt;</textarea>" in page(refused)
    answer = act(client, item, "snooze", token=token, preset="hour", reason="Bank <b>closed</b>")
    assert "P-00001 sleeps until " in page(client.get(answer["Location"]))
    shown = page(client.get(f"{LIST}{item.pk}/"))
    assert "It sleeps until" in shown and "Ann Archer snoozed it" in shown and "<b>closed</b>" not in shown
    assert "snoozed until" in page(client.get(f"{LIST}?claim=snoozed"))
    assert "P-00001" not in page(client.get(f"{LIST}?claim=free"))
    act(client, item, "wake")
    assert "P-00001" in page(client.get(f"{LIST}?claim=free"))


def test_a_hand_over_shows_on_the_other_persons_front_page(
    tenant: Tenant, client: Client, make_person: Callable[..., User], client_for: Callable[..., Client]
) -> None:
    ben = make_person(name="Ben Okafor")
    item = make_payouts(tenant=tenant, count=1)[0]
    token = hold(client, item)
    assert "Ben Okafor</option>" in page(client.get(f"{LIST}{item.pk}/"))
    answer = act(client, item, "hand-over", token=token, to=ben.pk, note="You know <i>them</i>")
    assert "P-00001 is with Ben Okafor now." in page(client.get(answer["Location"]))
    theirs = client_for(ben)
    assert "From Ann Archer: You know &lt;i&gt;them&lt;/i&gt;" in page(theirs.get("/t/acme/"))
    shown = page(theirs.get(f"{LIST}{item.pk}/"))
    assert "Ann Archer handed it over, to Ben Okafor" in shown and "From Ann Archer" in shown


def test_a_supervisor_moves_with_a_reason_and_staff_cannot(
    tenant: Tenant, client: Client, make_person: Callable[..., User], client_for: Callable[..., Client]
) -> None:
    ben, sue = make_person(name="Ben Okafor"), make_person(name="Sue Stone", roles=("supervisor",))
    item = make_payouts(tenant=tenant, count=1)[0]
    token = hold(client, item)
    assert "as a supervisor" not in page(client.get(f"{LIST}{item.pk}/"))
    assert act(client, item, "move", token=token, to=ben.pk, reason="mine").status_code == 403
    lead = client_for(sue)
    assert "Take over or move it, as a supervisor" in page(lead.get(f"{LIST}{item.pk}/"))
    assert act(lead, item, "move", token=token, to=ben.pk, reason=" ").status_code == 409
    assert act(lead, item, "move", token=token, to=ben.pk, reason="Ann is ill").status_code == 303
    shown = page(lead.get(f"{LIST}{item.pk}/"))
    assert "Sue Stone moved it, to Ben Okafor, from Ann Archer" in shown and "Ann is ill" in shown
    assert act(lead, item, "free", token=token + 1, reason="Ben left").status_code == 303
    assert Payout.objects.get(pk=item.pk).claim_holder is None


def test_undo_is_offered_with_the_words_and_on_the_item(tenant: Tenant, client: Client) -> None:
    items = make_payouts(tenant=tenant, count=2)
    token = hold(client, items[1])
    answer = act(client, items[1], "act/approve", token=token, next="1")
    following = page(client.get(answer["Location"]))
    assert "P-00002 is now approved." in following
    assert f'action="{LIST}{items[1].pk}/undo/"' in following
    assert "Undo your decision" in page(client.get(f"{LIST}{items[1].pk}/"))
    answer = act(client, items[1], "undo")
    assert "Undone: P-00002 is pending again, and you hold it." in page(client.get(answer["Location"]))


def test_a_hostile_reference_stays_text_in_the_message(tenant: Tenant, client: Client) -> None:
    item = make_payouts(tenant=tenant, count=1, reference="<script>alert(1)</script>")[0]
    token = hold(client, item)
    answer = act(client, item, "act/approve", token=token)
    shown = page(client.get(answer["Location"]))
    assert "<script>alert" not in shown and "&lt;script&gt;alert(1)&lt;/script&gt; is now approved." in shown


def test_a_decided_item_is_reopened_with_a_reason(tenant: Tenant, client: Client) -> None:
    item = make_payouts(tenant=tenant, count=1)[0]
    token = hold(client, item)
    act(client, item, "act/approve", token=token)
    assert "Reason to reopen" in page(client.get(f"{LIST}{item.pk}/"))
    answer = act(client, item, "reopen", version=2, reason="wrong account")
    shown = page(client.get(answer["Location"]))
    assert "P-00001 is in the queue again." in shown and "Ann Archer reopened it" in shown
    assert "Ann Archer: Approve" in shown


def test_notes_are_shown_as_they_were_typed(tenant: Tenant, client: Client) -> None:
    item = make_payouts(tenant=tenant, count=1)[0]
    hostile = "</textarea><script>alert(1)</script> {{ 7 }} ' OR 1=1 -- \u202e late"
    assert act(client, item, "note", text=hostile).status_code == 303
    shown = page(client.get(f"{LIST}{item.pk}/"))
    assert "Ann Archer noted" in shown and "<script>alert" not in shown and "{{ 7 }}" in shown
    for _ in range(2):
        act(client, item, "note", text="late late late")
    assert page(client.get(f"{LIST}?q=P-00001")).count("data-row") == 1
    assert act(client, item, "note", text="nul \x00").status_code == 400


def test_related_items_and_twins_are_linked(tenant: Tenant, client: Client) -> None:
    first, second = make_payouts(
        tenant=tenant, count=2, beneficiary="Grace Hopper", account="A-1", amount="5", currency="EUR"
    )
    make_review(tenant=tenant, reference="R-77")
    Payout.objects.update(opened_at=first.opened_at)
    shown = page(client.get(f"{LIST}{first.pk}/"))
    assert "Possible duplicate" in shown and f'href="{LIST}{second.pk}/"' in shown
    assert "Account reviews of Grace Hopper" in shown and "R-77" in shown


def test_refusals_are_told_in_the_timeline(
    tenant: Tenant, client: Client, make_person: Callable[..., User], client_for: Callable[..., Client]
) -> None:
    item = make_payouts(tenant=tenant, count=1)[0]
    hold(client, item)
    act(client_for(make_person(name="Ben Okafor")), item, "claim")
    assert re.search(
        r"is-refused.*?Ben Okafor claimed it \(refused\)", page(client.get(f"{LIST}{item.pk}/")), re.DOTALL
    )


@pytest.mark.parametrize("name", ACTS)
def test_each_address_asks_for_its_right_and_keeps_to_its_tenant(
    tenant: Tenant, other_tenant: Tenant, client: Client, client_for: Callable[..., Client], name: str
) -> None:
    item = make_payouts(tenant=tenant, count=1)[0]
    hold(client, item)
    before = Payout.objects.values().get(pk=item.pk)
    fields = {"token": "1", "version": "1", "to": "1", "reason": "x", "text": "x", "preset": "hour"}
    assert act(Client(), item, name, **fields).status_code == 302
    auditor = factories.make_person(tenant=tenant, roles=("auditor",))
    assert act(client_for(auditor), item, name, **fields).status_code == 403
    outsider = factories.make_person(tenant=other_tenant, roles=("staff", "supervisor"))
    assert post(client_for(outsider), f"/t/globex/queues/payouts/{item.pk}/{name}/", **fields).status_code == 404
    assert client.get(f"{LIST}{item.pk}/{name}/").status_code in {403, 405}
    assert Payout.objects.values().get(pk=item.pk) == before
    assert AuditEvent.objects.filter(act="page.open", outcome="refused", actor=auditor.email).count() == 1


def test_one_form_sent_twice_acts_once(tenant: Tenant, client: Client) -> None:
    item = make_payouts(tenant=tenant, count=1)[0]
    key = uuid4().hex
    for _ in range(2):
        assert post(client, f"{LIST}{item.pk}/note/", key=key, text="once").status_code == 303
    assert AuditEvent.objects.filter(act="item.note").count() == 1
