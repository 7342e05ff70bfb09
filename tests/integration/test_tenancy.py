"""Tenants never meet: in queries, in the database, in addresses."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest
from django.db import IntegrityError, connection, transaction
from django.test import Client

from backoffice.audit import recording
from backoffice.audit.models import AuditEvent
from backoffice.errors import NoTenantScope
from backoffice.tenants import scope
from backoffice.tenants.models import Membership, Tenant, User
from tests import factories


@pytest.mark.usefixtures("database")
def test_a_query_without_a_scope_fails() -> None:
    with pytest.raises(NoTenantScope):
        list(AuditEvent.objects.all())
    with pytest.raises(NoTenantScope):
        AuditEvent._base_manager.count()


def test_a_scope_shows_only_its_tenants_rows(tenant: Tenant, other_tenant: Tenant) -> None:
    recording.record(actor="here", actor_user_id=None, act="test")
    with scope.open(other_tenant):
        recording.record(actor="there", actor_user_id=None, act="test")
        assert [event.actor for event in AuditEvent.objects.all()] == ["there"]
    assert [event.actor for event in AuditEvent.objects.all()] == ["here"]


def test_related_rows_are_held_to_the_scope_too(tenant: Tenant, other_tenant: Tenant) -> None:
    person = factories.make_person(tenant=other_tenant)
    assert list(person.memberships.all()) == []


def test_the_reporting_role_sees_only_the_transactions_tenant(tenant: Tenant, other_tenant: Tenant) -> None:
    for place in (tenant, other_tenant):
        with scope.open(place):
            recording.record(actor=place.slug, actor_user_id=None, act="test")
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL ROLE backoffice_reporting")
        cursor.execute("SELECT count(*) FROM audit_auditevent")
        assert cursor.fetchone() == (0,)
        cursor.execute("SELECT set_config('backoffice.tenant', %s, true)", [str(other_tenant.pk)])
        cursor.execute("SELECT actor FROM audit_auditevent")
        assert cursor.fetchall() == [("globex",)]


def test_the_audit_trail_refuses_update_and_delete_from_anybody(
    tenant: Tenant, superuser: psycopg.Connection[tuple[int]]
) -> None:
    event = recording.record(actor="here", actor_user_id=None, act="test")
    for statement in ("UPDATE audit_auditevent SET actor = 'x'", "DELETE FROM audit_auditevent"):
        with pytest.raises(Exception, match="permission denied"), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="its rows never change"):
            superuser.execute(statement)
    assert AuditEvent.objects.get(pk=event.pk).actor == "here"


def test_operator_is_granted_on_the_platform_tenant_only(tenant: Tenant, make_person: Callable[..., User]) -> None:
    person = make_person()
    with pytest.raises(IntegrityError), transaction.atomic():
        Membership.objects.filter(user=person).update(roles=["operator"])


def test_a_role_that_is_not_known_is_refused_by_the_database(tenant: Tenant, make_person: Callable[..., User]) -> None:
    person = make_person()
    with pytest.raises(IntegrityError), transaction.atomic():
        Membership.objects.filter(user=person).update(roles=["superuser"])


def test_permissions_follow_the_open_tenant(tenant: Tenant, other_tenant: Tenant) -> None:
    person = factories.make_person(tenant=tenant, roles=("staff",))
    assert person.has_perm("queues.work_payout")
    with scope.open(other_tenant):
        assert not person.has_perm("queues.work_payout")
    assert not person.has_perm("money.confirm_release")


@pytest.mark.parametrize("slug", ["globex", "nowhere", "acme%00", "..", "ACME"])
def test_a_person_of_another_tenant_gets_404(
    slug: str, tenant: Tenant, other_tenant: Tenant, make_person: Callable[..., User], client_for: Callable[..., Client]
) -> None:
    client = client_for(make_person())
    assert client.get(f"/t/{slug}/").status_code == 404


def test_a_visitor_is_asked_to_sign_in_whether_the_tenant_exists_or_not(tenant: Tenant) -> None:
    for slug in ("acme", "nowhere"):
        response = Client().get(f"/t/{slug}/queues/payouts/")
        assert response.status_code == 302
        assert response["Location"] == f"/sign-in/?next=/t/{slug}/queues/payouts/"


def test_signing_in_is_audited_and_a_wrong_password_too(tenant: Tenant) -> None:
    factories.make_person(tenant=tenant, email="ann@example.com", password="correct horse battery")
    client = Client()
    refused = client.post("/sign-in/", {"username": "ann@example.com", "password": "wrong"})
    assert refused.status_code == 422
    accepted = client.post("/sign-in/", {"username": "Ann@Example.com", "password": "correct horse battery"})
    assert accepted.status_code == 302
    with scope.open(Tenant.objects.get(pk=1)):
        assert list(AuditEvent.objects.order_by("id").values_list("outcome", "code")) == [
            ("refused", "wrong-credentials"),
            ("done", ""),
        ]
    assert not AuditEvent.objects.filter(data__icontains="correct horse").exists()


@pytest.mark.parametrize("address", ["a\x00b", "x" * 5000, "' OR 1=1 --", "🦊@example.com", ""])
def test_a_hostile_address_is_a_plain_refusal(address: str, database: None) -> None:
    assert Client().post("/sign-in/", {"username": address, "password": "x"}).status_code == 422


def test_an_address_that_keeps_failing_waits_and_opens_by_itself(
    tenant: Tenant, superuser: psycopg.Connection[tuple[int]]
) -> None:
    factories.make_person(tenant=tenant, email="ann@example.com", password="correct horse battery")
    right = {"username": "ann@example.com", "password": "correct horse battery"}
    for _try in range(10):
        assert Client().post("/sign-in/", {**right, "password": "wrong"}).status_code == 422
    locked = Client().post("/sign-in/", {**right, "username": "ANN@example.com "})
    assert locked.status_code == 422
    assert b"It opens again by itself in 15 minutes" in locked.content
    superuser.execute("ALTER TABLE audit_auditevent DISABLE TRIGGER USER")
    superuser.execute("UPDATE audit_auditevent SET at = at - interval '16 minutes'")
    superuser.execute("ALTER TABLE audit_auditevent ENABLE TRIGGER USER")
    assert Client().post("/sign-in/", right).status_code == 302
