"""The Definitions page shows what `manage.py definitions` prints, to supervisors and operators alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils.html import escape

from backoffice.tenants.models import PLATFORM_ID, Tenant, User
from tests import factories


def test_the_page_names_everything_that_the_command_prints(
    tenant: Tenant, make_person: Callable[..., User], client_for: Callable[..., Client]
) -> None:
    out = StringIO()
    call_command("definitions", "--json", stdout=out)
    printed = json.loads(out.getvalue())
    page = client_for(make_person(roles=("supervisor",))).get(f"/t/{tenant.slug}/definitions/").content.decode()
    assert {"queue", "export", "command", "setting"} <= set(printed)
    for entries in printed.values():
        for entry in entries:
            assert f"<code>{escape(entry['name'])}</code>" in page


def test_a_name_narrows_the_page_and_a_strange_one_is_answered(
    tenant: Tenant, make_person: Callable[..., User], client_for: Callable[..., Client]
) -> None:
    client = client_for(make_person(roles=("supervisor",)))
    page = client.get(f"/t/{tenant.slug}/definitions/", {"q": "PAYOUT"}).content.decode()
    assert "payout.release" in page and "<code>disputes</code>" not in page
    for text in ("<script>", "\x00", "x" * 10_000, "%", "🎉"):
        answer = client.get(f"/t/{tenant.slug}/definitions/", {"q": text})
        assert answer.status_code == 200 and "<script>alert" not in answer.content.decode()


@pytest.mark.parametrize(("role", "status"), [("supervisor", 200), ("staff", 403), ("finance", 403), ("analyst", 403)])
def test_it_is_for_those_who_run_the_queues(
    role: str, status: int, tenant: Tenant, make_person: Callable[..., User], client_for: Callable[..., Client]
) -> None:
    assert client_for(make_person(roles=(role,))).get(f"/t/{tenant.slug}/definitions/").status_code == status
    operator = factories.make_person(tenant=Tenant.objects.get(pk=PLATFORM_ID), roles=("operator",))
    assert client_for(operator).get("/t/platform/definitions/").status_code == 200
