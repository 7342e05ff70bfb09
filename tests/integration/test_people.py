"""People: invited by a link that serves once, given roles, deactivated and let back, and themselves."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from backoffice.audit.models import AuditEvent
from backoffice.commands import Actor
from backoffice.people.models import Invitation
from backoffice.tenants import scope
from backoffice.tenants.models import Membership, Tenant, User
from queues import claiming
from queues.models import Payout
from tests import factories
from tests.making_items import make_payouts

PASSWORD = "correct horse battery"
People = Callable[..., User]


def _key() -> str:
    return uuid4().hex


def _link(client: Client, tenant: Tenant, email: str = "new@example.com", roles: tuple[str, ...] = ("staff",)) -> str:
    answer = client.post(f"/t/{tenant.slug}/people/", {"email": email, "roles": list(roles), "key": _key()})
    assert answer.status_code == 200, answer.content.decode()[-2000:]
    return "/invitation/" + answer.content.decode().split("/invitation/")[1].split("<")[0]


def _accept(link: str, client: Client | None = None, **more: str) -> Any:
    client = client or Client(raise_request_exception=False)
    return client.post(link, {"name": "New Person", "password": PASSWORD, "again": PASSWORD, **more})


def test_an_invited_person_chooses_name_and_password_and_works(
    tenant: Tenant, make_person: People, client_for: Callable[..., Client]
) -> None:
    boss = make_person(roles=("supervisor",))
    link = _link(client_for(boss), tenant)
    page = Client().get(link)
    assert page.status_code == 200 and "Join Acme" in page.content.decode()
    assert "no-store" in page.headers["Cache-Control"]
    assert _accept(link).status_code == 303
    person = User.objects.get(email="new@example.com")
    assert (person.name, person.check_password(PASSWORD)) == ("New Person", True)
    assert Membership.objects.get(user=person).roles == ["staff"]
    assert client_for(person).get(f"/t/{tenant.slug}/queues/payouts/").status_code == 200
    event = AuditEvent.objects.get(act="invitation.accept")
    assert event.target == f"person:{person.pk}" and PASSWORD not in str(event.data)


def test_a_link_serves_once_and_a_dead_one_reads_like_one_never_made(
    tenant: Tenant, make_person: People, client_for: Callable[..., Client]
) -> None:
    client = client_for(make_person(roles=("supervisor",)))
    used, expired = _link(client, tenant), _link(client, tenant, email="late@example.com")
    replaced = _link(client, tenant, email="twice@example.com")
    _link(client, tenant, email="twice@example.com")
    withdrawn = _link(client, tenant, email="gone@example.com")
    _accept(used)
    Invitation.objects.filter(email="late@example.com").update(expires_at=timezone.now() - timedelta(seconds=1))
    pk = Invitation.objects.get(email="gone@example.com").pk
    assert client.post(f"/t/{tenant.slug}/people/invitations/{pk}/revoke/", {"key": _key()}).status_code == 303
    never = Client().get("/invitation/" + "x" * 43 + "/")
    assert never.status_code == 404
    for link in (used, expired, replaced, withdrawn):
        for answer in (Client().get(link), _accept(link)):
            assert answer.status_code == 404 and answer.content == never.content


def test_an_existing_person_joins_signed_in_and_keeps_the_password(
    tenant: Tenant, other_tenant: Tenant, make_person: People, client_for: Callable[..., Client]
) -> None:
    person = factories.make_person(tenant=other_tenant, email="known@example.com", password="their own secret")
    link = _link(client_for(make_person(roles=("supervisor",))), tenant, email="Known@Example.com")
    assert _accept(link).status_code == 409
    assert _accept(link, client_for(make_person())).status_code == 409
    assert not Membership.objects.filter(user=person).exists()
    assert _accept(link, client_for(person)).status_code == 303
    person.refresh_from_db()
    assert person.check_password("their own secret") and Membership.objects.filter(user=person).exists()


def test_an_invitation_ends_with_its_makers_right(
    tenant: Tenant, make_person: People, client_for: Callable[..., Client]
) -> None:
    boss = make_person(roles=("supervisor",))
    link = _link(client_for(boss), tenant)
    Membership.objects.filter(user=boss).update(active=False)
    assert _accept(link).status_code == 409 and not User.objects.filter(email="new@example.com").exists()


@pytest.mark.parametrize("wrong", [{"password": "short", "again": "short"}, {"again": "other"}, {"name": " "}])
def test_a_weak_answer_uses_no_invitation_up(
    tenant: Tenant, make_person: People, client_for: Callable[..., Client], wrong: dict[str, str]
) -> None:
    link = _link(client_for(make_person(roles=("supervisor",))), tenant)
    assert _accept(link, **wrong).status_code == 409
    assert _accept(link).status_code == 303


def test_only_platform_people_become_operators(
    tenant: Tenant, make_person: People, client_for: Callable[..., Client]
) -> None:
    client = client_for(make_person(roles=("supervisor",)))
    staff = make_person()
    for address, more in (("people/", {"email": "op@example.com"}), (f"people/{staff.pk}/roles/", {})):
        answer = client.post(f"/t/{tenant.slug}/{address}", {"roles": ["operator"], "key": _key(), **more})
        assert answer.status_code == 409


def test_deactivating_ends_sessions_and_frees_claims_and_keeps_the_membership(
    tenant: Tenant, make_person: People, client_for: Callable[..., Client]
) -> None:
    payout = make_payouts(tenant=tenant, count=1)[0]
    staff, boss = make_person(), client_for(make_person(roles=("supervisor",)))
    theirs = client_for(staff)
    home = f"/t/{tenant.slug}/"
    assert theirs.get(home).status_code == 200
    claiming.claim(actor=Actor.person(staff), queue="payouts", item_id=payout.pk, key=_key())
    assert boss.post(f"{home}people/{staff.pk}/deactivate/", {"key": _key()}).status_code == 303
    assert theirs.get(home).status_code == 302
    assert client_for(User.objects.get(pk=staff.pk)).get(home).status_code == 404
    assert Payout.objects.get(pk=payout.pk).claim_holder_id is None
    assert AuditEvent.objects.filter(act="item.release", target=payout.target).exists()
    assert Membership.objects.get(user=staff).roles == ["staff"]
    assert boss.post(f"{home}people/{staff.pk}/reactivate/", {"key": _key()}).status_code == 303
    assert client_for(User.objects.get(pk=staff.pk)).get(home).status_code == 200
    acts = AuditEvent.objects.filter(target=f"person:{staff.pk}").values_list("act", flat=True)
    assert {"person.deactivate", "person.reactivate"} <= set(acts)


def test_nobody_changes_themselves_or_a_stranger(
    tenant: Tenant, other_tenant: Tenant, make_person: People, client_for: Callable[..., Client]
) -> None:
    boss, stranger = make_person(roles=("supervisor",)), factories.make_person(tenant=other_tenant)
    client = client_for(boss)
    for who in (boss, stranger):
        for act in ("deactivate", "roles"):
            answer = client.post(f"/t/{tenant.slug}/people/{who.pk}/{act}/", {"roles": ["staff"], "key": _key()})
            assert answer.status_code == 409
    with scope.open(other_tenant):
        assert Membership.objects.get(user=stranger).active
    assert client_for(make_person()).get(f"/t/{tenant.slug}/people/").status_code == 403


def test_changed_roles_hold_from_the_next_request(
    tenant: Tenant, make_person: People, client_for: Callable[..., Client]
) -> None:
    staff, boss = make_person(), client_for(make_person(roles=("supervisor",)))
    base = f"/t/{tenant.slug}"
    boss.post(f"{base}/people/{staff.pk}/roles/", {"roles": ["analyst", "auditor"], "key": _key()})
    assert Membership.objects.get(user=staff).roles == ["analyst", "auditor"]
    assert client_for(staff).get(f"{base}/exports/").status_code == 200


def test_language_and_zone_are_ones_own_and_utc_is_a_choice(
    tenant: Tenant, make_person: People, client_for: Callable[..., Client]
) -> None:
    Tenant.objects.filter(pk=tenant.pk).update(time_zone="Asia/Tokyo")
    payout = make_payouts(tenant=tenant, count=1, opened_at="2019-10-31T19:00:00+00:00")[0]
    person = make_person(name="Ada")
    client, item = client_for(person), f"/t/{tenant.slug}/queues/payouts/{payout.pk}/"
    assert "1 Nov 2019, 04:00" in client.get(item).content.decode()
    chosen = {"act": "choose", "name": "Ada", "language": "de", "time_zone": "UTC", "key": _key()}
    assert client.post(f"/t/{tenant.slug}/me/", chosen).status_code == 303
    page = client.get(item).content.decode()
    assert 'lang="de"' in page and "19:00" in page
    for wrong in ({"language": "xx"}, {"time_zone": "Mars/Olympus"}, {"name": ""}):
        assert client.post(f"/t/{tenant.slug}/me/", {**chosen, "key": _key(), **wrong}).status_code == 409


def test_a_new_password_ends_the_other_sessions_only(
    tenant: Tenant, make_person: People, client_for: Callable[..., Client]
) -> None:
    person = make_person(password="the old password")
    here, there = client_for(person), client_for(person)
    me = f"/t/{tenant.slug}/me/"
    asked = {"act": "password", "current": "the old password", "new": PASSWORD, "again": PASSWORD}
    assert here.post(me, {**asked, "current": "a guess", "key": _key()}).status_code == 409
    assert here.post(me, {**asked, "again": "x", "key": _key()}).status_code == 409
    assert here.post(me, {**asked, "key": _key()}).status_code == 303
    assert here.get(me).status_code == 200 and there.get(me).status_code == 302
    person.refresh_from_db()
    assert person.check_password(PASSWORD)
    for _try in range(10):
        here.post(me, {**asked, "current": "a guess", "key": _key()})
    assert "Too many wrong tries" in here.post(me, {**asked, "current": PASSWORD, "key": _key()}).content.decode()
