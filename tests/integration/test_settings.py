"""Operators change settings within their bounds; tenants fall back to the platform's value, then to the default."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from backoffice import livesettings
from backoffice.audit.models import AuditEvent
from backoffice.tenants import scope
from backoffice.tenants.models import PLATFORM_ID, Tenant, User
from tests import factories

NAME = "money.plan_minutes"


@pytest.fixture
def platform(database: None) -> Tenant:
    return Tenant.objects.get(pk=PLATFORM_ID)


@pytest.fixture
def operator(platform: Tenant) -> User:
    return factories.make_person(tenant=platform, roles=("operator",))


def _post(client: Client, **form: Any) -> Any:
    return client.post("/t/platform/settings/", {"key": "k", "name": NAME, **form})


def test_a_value_falls_back_from_tenant_to_platform_to_default(tenant: Tenant, platform: Tenant) -> None:
    default = livesettings.settings.get(NAME).default
    assert livesettings.get(NAME) == default
    call_command("settings", "set", NAME, "45", stdout=StringIO())
    assert livesettings.get(NAME) == 45
    call_command("settings", "set", NAME, "30", "--tenant", "acme", stdout=StringIO())
    assert livesettings.get(NAME) == 30
    with scope.open(platform):
        assert livesettings.get(NAME) == 45


def test_an_operator_changes_a_setting_on_the_page_and_it_is_audited(
    platform: Tenant, operator: User, client_for: Callable[..., Client]
) -> None:
    client = client_for(operator)
    assert b"money.plan_minutes" in client.get("/t/platform/settings/").content
    assert _post(client, value="90").status_code == 302
    with scope.open(platform):
        assert livesettings.get(NAME) == 90
        assert AuditEvent.objects.get(act="setting.change").data["result"]["after"] == 90


@pytest.mark.parametrize("value", ["0", "999999999", "-5", "1.5", "٩٠", "x", "", "9" * 30, "a\x00b", "'; DROP TABLE x"])
def test_a_value_that_cannot_be_is_refused_and_kept_on_the_page(
    value: str, platform: Tenant, operator: User, client_for: Callable[..., Client]
) -> None:
    response = _post(client_for(operator), value=value)
    assert response.status_code == 409
    assert b'role="alert"' in response.content
    with scope.open(platform):
        assert livesettings.get(NAME) == livesettings.settings.get(NAME).default


def test_an_unknown_setting_is_refused(platform: Tenant, operator: User, client_for: Callable[..., Client]) -> None:
    assert _post(client_for(operator), name="nope", value="1").status_code == 409
    with pytest.raises(CommandError, match="no such setting"):
        call_command("settings", "set", "nope", "1")


def test_others_may_not_see_the_page(
    tenant: Tenant, make_person: Callable[..., User], client_for: Callable[..., Client]
) -> None:
    assert client_for(make_person(roles=("supervisor", "finance"))).get("/t/acme/settings/").status_code == 403
    assert client_for(make_person()).get("/t/platform/settings/").status_code == 404
