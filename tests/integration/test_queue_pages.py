"""The pages of a queue: what the list shows, how an item is claimed and decided, what a refusal shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from backoffice.commands import Actor
from backoffice.tenants.models import Tenant, User
from queues import claiming
from queues.models import Payout
from tests.making_items import make_payouts, make_review

LIST = "/t/acme/queues/payouts/"


@pytest.fixture
def staff(make_person: Callable[..., User]) -> User:
    return make_person(name="Ann Archer")


@pytest.fixture
def client(staff: User, client_for: Callable[..., Client]) -> Client:
    return client_for(staff)


def post(client: Client, path: str, **fields: Any) -> Any:
    return client.post(path, {"key": uuid4().hex, **fields})


def hold(client: Client, item: Payout) -> int:
    assert post(client, f"{LIST}{item.pk}/claim/").status_code == 303
    item.refresh_from_db()
    return item.claim_token


def page(response: Any) -> str:
    return response.content.decode()


# ------------------------------------------------------------------ the list


@pytest.mark.proves("jobs#show-the-score-beside-each-item")
def test_each_row_shows_its_score_and_the_sentence_that_explains_it(tenant: Tenant, client: Client) -> None:
    make_payouts(tenant=tenant, count=2)
    shown = page(client.get(LIST))
    assert "risk 90: EUR 23,800.50 (+60), 31 days old (+30)" in shown
    assert ">90</span>" in shown
    assert shown.index("P-00002") < shown.index("P-00001")


def test_a_row_that_is_not_scored_says_so(tenant: Tenant, client: Client) -> None:
    item = make_payouts(tenant=tenant, count=1)[0]
    Payout.objects.filter(pk=item.pk).update(score=None, score_version=None, scored_at=None, score_inputs=[])
    assert "not scored yet" in page(client.get(LIST))


def test_the_list_says_who_holds_and_looking_never_claims(
    tenant: Tenant, client: Client, make_person: Callable[..., User]
) -> None:
    item = make_payouts(tenant=tenant, count=1)[0]
    ben = make_person(name="Ben Okafor")
    claiming.claim(actor=Actor.person(ben), queue="payouts", item_id=item.pk, key="b")
    assert "Ben Okafor until" in page(client.get(LIST))
    assert "Ben Okafor holds it" in page(client.get(f"{LIST}{item.pk}/"))
    item.refresh_from_db()
    assert (item.claim_holder_id, item.claim_token) == (ben.pk, 1)


def test_filters_live_in_the_address_and_are_carried_from_page_to_page(tenant: Tenant, client: Client) -> None:
    make_payouts(tenant=tenant, count=130)
    first = client.get(f"{LIST}?currency=eur&q=zo")
    shown = page(first)
    assert "Café Zoë" in shown
    assert "Ada Lovelace" not in shown
    assert "22 match" in shown
    assert f"{LIST}claim-next/?q=zo&amp;currency=EUR" in shown
    assert "/?q=zo&amp;currency=EUR" in shown


def test_pages_turn_by_key_and_hold_every_item_once(tenant: Tenant, client: Client) -> None:
    make_payouts(tenant=tenant, count=130)
    seen: list[int] = []
    address = LIST
    for _turn in range(3):
        context = client.get(address).context
        seen += [row.item.pk for row in context["rows"]]
        address = context["next_url"]
    assert address == ""
    assert len(seen) == len(set(seen)) == 130
    back = client.get(context["previous_url"]).context
    assert [row.item.pk for row in back["rows"]] == seen[50:100]


def test_an_empty_list_tells_the_truth(tenant: Tenant, client: Client) -> None:
    assert "Nothing is waiting" in page(client.get(LIST))
    make_payouts(tenant=tenant, count=3)
    shown = page(client.get(f"{LIST}?q=nobody"))
    assert "Nothing matches" in shown
    assert "In the whole queue 3 items are waiting." in shown


def test_a_list_without_a_score_shows_the_oldest_first(tenant: Tenant, client: Client) -> None:
    make_review(tenant=tenant, reference="R-old")
    shown = page(client.get("/t/acme/queues/reviews/"))
    assert "R-old" in shown
    assert ">Score<" not in shown


def test_a_name_that_looks_like_markup_is_text(tenant: Tenant, client: Client) -> None:
    item = make_payouts(tenant=tenant, count=1, beneficiary="<script>alert(1)</script>")[0]
    for address in (LIST, f"{LIST}{item.pk}/"):
        assert "<script>alert" not in page(client.get(address))


# ------------------------------------------------------------------ claim, act, next


def test_claim_next_holds_the_top_item_and_opens_it(tenant: Tenant, client: Client, staff: User) -> None:
    items = make_payouts(tenant=tenant)
    response = post(client, f"{LIST}claim-next/")
    assert (response.status_code, response["Location"]) == (303, f"{LIST}{items[1].pk}/")
    items[1].refresh_from_db()
    assert items[1].claim_holder_id == staff.pk


def test_claim_next_stays_within_the_filters(tenant: Tenant, client: Client) -> None:
    items = make_payouts(tenant=tenant)
    response = post(client, f"{LIST}claim-next/?currency=JPY")
    assert response["Location"] == f"{LIST}{items[2].pk}/?currency=JPY"
    again = post(client, f"{LIST}claim-next/?currency=JPY")
    assert again.status_code == 409
    assert "Nothing that matches these filters is free now: 1 is yours already." in page(again)


@pytest.mark.parametrize("filters", ["", "?currency=GBP"])
def test_a_form_that_is_sent_twice_claims_once(filters: str, tenant: Tenant, client: Client) -> None:
    make_payouts(tenant=tenant, count=12)
    answers = {client.post(f"{LIST}claim-next/{filters}", {"key": "once"})["Location"] for _again in range(2)}
    assert len(answers) == 1
    assert Payout.objects.exclude(claim_holder=None).count() == 1


def test_act_and_next_decides_then_opens_the_next(tenant: Tenant, client: Client) -> None:
    items = make_payouts(tenant=tenant)
    token = hold(client, items[1])
    response = post(client, f"{LIST}{items[1].pk}/act/approve/", token=token, version=1, next="1")
    assert (response.status_code, response["Location"]) == (303, f"{LIST}{items[2].pk}/")
    assert "P-00002 is now approved." in page(client.get(response["Location"]))
    items[1].refresh_from_db()
    assert items[1].state == "approved"


def test_an_action_sent_twice_decides_once_and_opens_one_next(tenant: Tenant, client: Client) -> None:
    items = make_payouts(tenant=tenant)
    form = {"key": "once", "token": hold(client, items[1]), "version": 1, "next": "1"}
    answers = {client.post(f"{LIST}{items[1].pk}/act/approve/", form)["Location"] for _again in range(2)}
    assert len(answers) == 1
    assert Payout.objects.exclude(claim_holder=None).count() == 1


def test_the_last_action_leads_to_a_list_that_says_why_nothing_came(tenant: Tenant, client: Client) -> None:
    item = make_payouts(tenant=tenant, count=1)[0]
    response = post(client, f"{LIST}{item.pk}/act/approve/", token=hold(client, item), version=1, next="1")
    assert response["Location"] == LIST
    shown = page(client.get(LIST))
    assert "P-00001 is now approved." in shown
    assert "Nothing is waiting in this queue." in shown


def test_a_refusal_shows_its_words_and_keeps_what_was_typed(
    tenant: Tenant, client: Client, make_person: Callable[..., User]
) -> None:
    item = make_payouts(tenant=tenant, count=1)[0]
    ben = make_person(name="Ben Okafor")
    claiming.claim(actor=Actor.person(ben), queue="payouts", item_id=item.pk, key="b")
    response = post(client, f"{LIST}{item.pk}/act/hold/", token=1, version=1, reason="Called twice <b>")
    assert response.status_code == 409
    assert "Ben Okafor holds this item until" in page(response)
    assert "Called twice &lt;b&gt;" in page(response)
    item.refresh_from_db()
    assert item.state == "pending"


def test_a_missing_reason_is_asked_for_and_changes_nothing(tenant: Tenant, client: Client) -> None:
    item = make_payouts(tenant=tenant, count=1)[0]
    response = post(client, f"{LIST}{item.pk}/act/hold/", token=hold(client, item), version=1, reason="  ")
    assert response.status_code == 409
    assert "Give a reason." in page(response)


def test_the_timeline_tells_in_words_who_did_what_and_why(tenant: Tenant, client: Client) -> None:
    item = make_payouts(tenant=tenant, count=1)[0]
    post(client, f"{LIST}{item.pk}/act/hold/", token=hold(client, item), version=1, reason="Supplier is unknown")
    shown = page(client.get(f"{LIST}{item.pk}/"))
    assert "Ann Archer claimed it" in shown
    assert "Ann Archer: Hold" in shown
    assert "Supplier is unknown" in shown


def test_release_gives_the_item_back(tenant: Tenant, client: Client) -> None:
    item = make_payouts(tenant=tenant, count=1)[0]
    response = post(client, f"{LIST}{item.pk}/release/", token=hold(client, item))
    assert response["Location"] == LIST
    item.refresh_from_db()
    assert item.claim_holder_id is None


def test_renew_answers_json_and_says_who_holds_when_the_claim_is_lost(
    tenant: Tenant, client: Client, make_person: Callable[..., User]
) -> None:
    item = make_payouts(tenant=tenant, count=1)[0]
    token = hold(client, item)
    renewed = post(client, f"{LIST}{item.pk}/renew/", token=token)
    assert renewed.status_code == 200
    assert renewed.json()["until"] >= item.lease_until.isoformat()  # type: ignore[union-attr]  # held just above
    Payout.objects.filter(pk=item.pk).update(claim_holder=make_person(name="Ben Okafor"), claim_token=token + 1)
    lost = post(client, f"{LIST}{item.pk}/renew/", token=token)
    assert lost.status_code == 409
    assert "Ben Okafor holds this item" in lost.json()["message"]
