"""The pages of a queue against those who may not, and against hostile input; the front page and the look-ups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from backoffice.audit.models import AuditEvent
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant, User
from queues.models import Payout
from tests import factories
from tests.making_items import make_dispute, make_payouts

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


# ------------------------------------------------------------------ who may

POSTS = ("claim-next/", "{id}/claim/", "{id}/release/", "{id}/renew/", "{id}/act/approve/", "{id}/act/hold/")


@pytest.mark.case("TA-01")
@pytest.mark.parametrize("address", POSTS)
def test_a_visitor_is_sent_to_sign_in_and_changes_nothing(address: str, tenant: Tenant) -> None:
    item = make_payouts(tenant=tenant, count=1)[0]
    response = post(Client(), LIST + address.format(id=item.pk), token=1, version=1)
    assert response.status_code == 302
    assert response["Location"].startswith("/sign-in/")
    item.refresh_from_db()
    assert (item.state, item.claim_token) == ("pending", 0)


@pytest.mark.case("TA-01")
@pytest.mark.parametrize("role", ["finance", "analyst", "auditor"])
@pytest.mark.parametrize("address", POSTS)
def test_a_member_without_the_right_gets_403_and_it_is_on_record(
    address: str, role: str, tenant: Tenant, make_person: Callable[..., User], client_for: Callable[..., Client]
) -> None:
    item = make_payouts(tenant=tenant, count=1)[0]
    response = post(client_for(make_person(roles=(role,))), LIST + address.format(id=item.pk), token=0, version=1)
    assert response.status_code == 403
    item.refresh_from_db()
    assert (item.state, item.claim_token) == ("pending", 0)
    assert AuditEvent.objects.filter(outcome="refused", code="not-permitted").count() == 1


@pytest.mark.case("TA-01")
@pytest.mark.parametrize("address", ["{id}/", *POSTS[1:]])
def test_an_item_of_another_tenant_is_404_and_stays_as_it_was(
    address: str, tenant: Tenant, other_tenant: Tenant, client: Client
) -> None:
    with scope.open(other_tenant):
        theirs = make_payouts(tenant=other_tenant, count=1)[0]
    path = LIST + address.format(id=theirs.pk)
    response = client.get(path) if address == "{id}/" else post(client, path, token=0, version=1, reason="x")
    assert response.status_code == 404
    with scope.open(other_tenant):
        theirs.refresh_from_db()
    assert (theirs.state, theirs.claim_token) == ("pending", 0)


def test_a_person_of_another_tenant_gets_404_everywhere(
    tenant: Tenant, other_tenant: Tenant, client_for: Callable[..., Client]
) -> None:
    item = make_payouts(tenant=tenant, count=1)[0]
    outsider = client_for(factories.make_person(tenant=other_tenant))
    for address in ("", f"{item.pk}/"):
        assert outsider.get(LIST + address).status_code == 404
    for address in POSTS:
        assert post(outsider, LIST + address.format(id=item.pk)).status_code == 404


def test_a_person_sees_only_the_queues_of_their_roles(
    tenant: Tenant, make_person: Callable[..., User], client_for: Callable[..., Client]
) -> None:
    make_dispute(tenant=tenant)
    auditor = client_for(make_person(roles=("auditor",)))
    finance = client_for(make_person(roles=("finance",)))
    assert auditor.get("/t/acme/queues/disputes/").status_code == 200
    assert finance.get("/t/acme/queues/disputes/").status_code == 403


def test_those_who_only_look_see_no_button_that_they_may_not_press(
    tenant: Tenant, make_person: Callable[..., User], client_for: Callable[..., Client]
) -> None:
    item = make_payouts(tenant=tenant, count=1)[0]
    auditor = client_for(make_person(roles=("auditor",)))
    for address in (LIST, f"{LIST}{item.pk}/"):
        shown = page(auditor.get(address))
        assert "Claim" not in shown.replace(">Claim</label>", "")
        assert "Approve and next" not in shown


def test_every_change_is_a_post(tenant: Tenant, client: Client) -> None:
    item = make_payouts(tenant=tenant, count=1)[0]
    for address in POSTS:
        assert client.get(LIST + address.format(id=item.pk)).status_code == 405


def test_a_post_without_the_csrf_token_is_refused(tenant: Tenant, staff: User) -> None:
    make_payouts(tenant=tenant, count=1)
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(staff)
    response = post(strict, f"{LIST}claim-next/")
    assert response.status_code == 403
    assert "What to do next" in page(response)


# ------------------------------------------------------------------ hostile input


@pytest.mark.parametrize(
    "query",
    [
        "?q=%00",
        "?q=" + "x" * 5_000,
        "?q=%25_%27%22%3B--",
        "?q=%F0%9F%A6%8A",
        "?q=%ED%A0%80",
        "?state=no-such-state",
        "?state=approved&state=held",
        "?currency=%00",
        "?currency=EURO",
        "?claim=everything",
        "?after=garbage",
        "?after=%00",
        "?after=W251bGwsICIwMDAxLTAxLTAxVDAwOjAwOjAwKzE0OjAwIiwgMV0",
        "?after=WzksICI5OTk5LTEyLTMxVDIzOjU5OjU5LTE0OjAwIiwgOTIyMzM3MjAzNjg1NDc3NTgwN10",
        "?before=Wzk5OTk5OTk5OTk5LCAiMjAyNi0wMS0wMVQwMDowMDowMCswMDowMCIsIDFd",
        "?unknown=1",
    ],
)
def test_any_address_of_the_list_opens_a_page(query: str, tenant: Tenant, client: Client) -> None:
    make_payouts(tenant=tenant, count=2)
    assert client.get(LIST + query).status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/t/acme/queues/nothing/",
        "/t/acme/queues/pay%00outs/",
        f"{LIST}abc/",
        f"{LIST}-1/",
        f"{LIST}1.5/",
        f"{LIST}0/",
        f"{LIST}9223372036854775808/",
        f"{LIST}{'9' * 400}/",
        f"{LIST}%F0%9F%A6%8A/",
    ],
)
def test_an_address_that_names_nothing_is_404(path: str, tenant: Tenant, client: Client) -> None:
    response = client.get(path)
    assert response.status_code == 404
    assert "What to do next" in page(response)


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"token": "abc"}, 400),
        ({"token": "1" * 40}, 400),
        ({"token": "-1"}, 400),
        ({"version": "\u0661"}, 400),
        ({"version": "2"}, 303),
        ({"token": "999999999999999999"}, 409),
        ({"reason": "a\x00b"}, 400),
        ({"reason": "x" * 200_000}, 409),
        ({"key": ""}, 400),
        ({"key": "x" * 5_000}, 400),
        ({"key": "a\x00"}, 400),
    ],
)
def test_hostile_fields_get_a_page_that_says_no(
    fields: dict[str, str], status: int, tenant: Tenant, client: Client
) -> None:
    item = make_payouts(tenant=tenant, count=1)[0]
    token = hold(client, item)
    response = post(client, f"{LIST}{item.pk}/act/hold/", **{"token": token, "version": "1", "reason": "x", **fields})
    assert response.status_code == status


def test_an_action_that_the_queue_does_not_have_is_404(tenant: Tenant, client: Client) -> None:
    item = make_payouts(tenant=tenant, count=1)[0]
    for action in ("resolve", "delete", "approve_payout"):
        assert post(client, f"{LIST}{item.pk}/act/{action}/", token=1, version=1).status_code == 404


def test_times_are_shown_in_the_readers_zone_and_name_it(
    tenant: Tenant, make_person: Callable[..., User], client_for: Callable[..., Client]
) -> None:
    item = make_payouts(tenant=tenant, count=1)[0]
    Payout.objects.filter(pk=item.pk).update(opened_at="2019-10-31T19:00:00+00:00")
    person = make_person()
    for zone, shown in (("Europe/Amsterdam", "31 Oct 2019, 20:00"), ("America/Sao_Paulo", "31 Oct 2019, 16:00")):
        person.time_zone = zone
        person.save()
        text = page(client_for(person).get(f"{LIST}{item.pk}/"))
        assert shown in text
        assert zone in text


# ------------------------------------------------------------------ the front page and the look-ups


@pytest.mark.parametrize("role", ["staff", "supervisor", "finance", "analyst", "auditor"])
def test_the_front_page_shows_each_role_its_own(
    role: str, tenant: Tenant, make_person: Callable[..., User], client_for: Callable[..., Client]
) -> None:
    make_payouts(tenant=tenant, count=2)
    response = client_for(make_person(roles=(role,))).get("/t/acme/")
    assert response.status_code == 200
    shown = page(response)
    assert ("Claim next" in shown) == (role in {"staff", "supervisor"})
    assert ("Payout releases" in shown) == (role in {"finance", "auditor"})
    assert ("Account reviews" in shown) == (role in {"staff", "supervisor", "auditor"})


def test_the_front_page_lists_what_the_person_holds(tenant: Tenant, client: Client) -> None:
    items = make_payouts(tenant=tenant)
    hold(client, items[2])
    shown = page(client.get("/t/acme/"))
    assert "You hold" in shown
    assert "P-00003" in shown
    assert "JPY 4,899,000" in shown


@pytest.mark.parametrize("place", ["add/", "{id}/delete/", "{id}/change/", ""])
def test_the_look_ups_change_nothing(place: str, tenant: Tenant, client: Client) -> None:
    item = make_payouts(tenant=tenant, count=1)[0]
    address = f"/t/acme/admin/queues/payout/{place.format(id=item.pk)}"
    opened = client.get(address)
    assert opened.status_code == (403 if place in {"add/", "{id}/delete/"} else 200)
    client.post(address, {"reference": "changed", "post": "yes", "action": "delete_selected"})
    item.refresh_from_db()
    assert item.reference == "P-00001"


def test_a_look_up_follows_the_permission_and_the_tenant(
    tenant: Tenant, other_tenant: Tenant, make_person: Callable[..., User], client_for: Callable[..., Client]
) -> None:
    with scope.open(other_tenant):
        theirs = make_payouts(tenant=other_tenant, count=1, prefix="X")[0]
    finance = client_for(make_person(roles=("finance",)))
    assert finance.get("/t/acme/admin/queues/dispute/").status_code == 403
    assert finance.get("/t/acme/admin/audit/auditevent/").status_code == 403
    assert "X-00001" not in page(finance.get("/t/acme/admin/queues/payout/"))
    assert finance.get(f"/t/acme/admin/queues/payout/{theirs.pk}/change/").status_code in {302, 404}


def test_no_page_holds_an_inline_script_or_style(tenant: Tenant, client: Client) -> None:
    item = make_payouts(tenant=tenant, count=1)[0]
    addresses = ["/t/acme/", LIST, f"{LIST}{item.pk}/", "/sign-in/", "/nothing/", "/t/acme/admin/queues/payout/"]
    for address in [*addresses, f"/t/acme/admin/queues/payout/{item.pk}/change/"]:
        shown = page(client.get(address))
        for inline in ("<style", " style=", "<script>", " onclick=", "javascript:"):
            assert inline not in shown, f"{address} holds {inline}"
