"""Saved views: a person's own, and those a supervisor shares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

from backoffice.audit.models import AuditEvent
from backoffice.tenants.models import Tenant
from queues.models import SavedView
from tests.making_items import make_payouts

QUEUE = "/queues/payouts/"


def _save(client: Any, base: str, name: str, query: str, **more: str) -> Any:
    return client.post(f"{base}{QUEUE}views/?{query}", {"name": name, "key": uuid4().hex, **more})


def test_a_view_keeps_filters_and_columns_and_is_a_tab(
    tenant: Tenant, make_person: Callable[..., Any], client_for: Callable[..., Any]
) -> None:
    make_payouts(tenant=tenant)
    base = f"/t/{tenant.slug}"
    client, other = client_for(make_person()), client_for(make_person())
    answer = _save(client, base, "  Yen  only ", "currency=jpy&cols=reference&cols=account")
    assert answer.status_code == 303
    view = SavedView.objects.get()
    assert (view.name, view.filters, view.columns) == ("Yen only", {"currency": "JPY"}, ["reference", "account"])
    page = client.get(answer.headers["Location"]).content.decode()
    assert 'aria-current="page">Yen only' in page and "Account" in page and "Save this view" not in page
    assert "Yen only" not in other.get(f"{base}{QUEUE}").content.decode()
    assert AuditEvent.objects.filter(act="view.save", target=f"view:{view.pk}").exists()


def test_only_a_supervisor_shares_and_removes_a_shared_view(
    tenant: Tenant, make_person: Callable[..., Any], client_for: Callable[..., Any]
) -> None:
    base = f"/t/{tenant.slug}"
    staff, boss = client_for(make_person()), client_for(make_person(roles=("supervisor",)))
    assert _save(staff, base, "Mine for all", "currency=EUR", shared="1").status_code == 403
    assert _save(boss, base, "Euros", "currency=EUR", shared="1").status_code == 303
    view = SavedView.objects.get()
    assert "Euros" in staff.get(f"{base}{QUEUE}").content.decode()
    remove = f"{base}{QUEUE}views/{view.pk}/remove/"
    assert staff.post(remove, {"key": uuid4().hex}).status_code == 404
    assert boss.post(remove, {"key": uuid4().hex}).status_code == 303
    assert not SavedView.objects.exists()


def test_the_same_name_again_replaces_and_an_empty_one_is_refused(
    tenant: Tenant, make_person: Callable[..., Any], client_for: Callable[..., Any]
) -> None:
    base, client = f"/t/{tenant.slug}", client_for(make_person())
    _save(client, base, "V", "currency=EUR")
    _save(client, base, "V", "currency=USD&evil=1&q=")
    assert SavedView.objects.get().filters == {"currency": "USD"}
    assert _save(client, base, "  ", "currency=USD").status_code == 409
    assert _save(client, base, "x" * 61, "currency=USD").status_code == 409


def test_a_person_without_the_queue_saves_nothing(
    tenant: Tenant, make_person: Callable[..., Any], client_for: Callable[..., Any]
) -> None:
    client = client_for(make_person(roles=("finance",)))
    assert client.post(f"/t/{tenant.slug}/queues/disputes/views/", {"name": "x", "key": "k"}).status_code == 403


def test_columns_come_from_the_address_and_unknown_ones_are_ignored(
    tenant: Tenant, make_person: Callable[..., Any], client_for: Callable[..., Any]
) -> None:
    make_payouts(tenant=tenant, count=60)
    client = client_for(make_person())
    page = client.get(f"/t/{tenant.slug}{QUEUE}?cols=reference&cols=account&cols=tenant_id&cols=password")
    text = page.content.decode()
    assert '<th scope="col">Account</th>' in text and '<th scope="col">Beneficiary</th>' not in text
    assert "cols=account&amp;after=" in text and "password" not in text
