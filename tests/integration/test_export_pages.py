"""The pages of exports: what a person sees, may do, and may not."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client, override_settings

from backoffice.audit.models import AuditEvent
from backoffice.livesettings.models import SettingValue
from backoffice.storage.models import Artifact
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant, User
from exports.models import ExportRequest
from tests.making_files import fetch, make_payouts, read_csv, work_off

HOME = "/t/acme/exports/"
NEW = f"{HOME}new/payouts/"


@pytest.fixture
def analyst(make_person: Callable[..., User], client_for: Callable[..., Client]) -> Client:
    return client_for(make_person(roles=("analyst",), email="ana@acme.example"))


def budget(rows: int) -> None:
    SettingValue.objects.update_or_create(
        tenant=scope.current(), name="exports.payouts.request_budget", defaults={"value": rows}
    )


def ask(client: Client, **fields: str) -> ExportRequest:
    answer = client.post(NEW, {"key": "k", "encoding": "utf-8-sig", **fields})
    assert answer.status_code == 303, answer.content.decode()
    request: ExportRequest = ExportRequest.objects.get()
    assert answer["Location"] == f"{HOME}{request.pk}/"
    return request


def test_the_form_shows_bounds_the_estimate_and_the_first_rows(analyst: Client) -> None:
    make_payouts(1_234)
    page = analyst.get(NEW).content.decode()
    assert "<strong>1,234</strong> rows" in page and "at most 1,000,000" in page
    assert page.count("<td>Payee ") == 5
    narrowed = analyst.get(NEW, {"currency": "JPY", "opened_from": "2026-03-01", "opened_to": "2026-03-03"})
    assert "<strong>14</strong> rows" in narrowed.content.decode()


@pytest.mark.parametrize(
    "fields",
    [
        {"currency": "EURO"},
        {"state": "nothing"},
        {"opened_from": "2026-02-30"},
        {"opened_to": "9999-12-31"},
        {"opened_from": "2026-03-02", "opened_to": "2026-03-01"},
        {"currency": "E\x00R"},
    ],
)
def test_a_filter_that_cannot_be_used_is_said_at_its_field(fields: dict[str, str], analyst: Client) -> None:
    answer = analyst.post(NEW, {"key": "k", "encoding": "utf-8", **fields})
    assert answer.status_code == 422 and "errorlist" in answer.content.decode()
    assert not ExportRequest.objects.exists()


@pytest.mark.proves("jobs#protect-export-output")
def test_an_analyst_asks_watches_and_downloads(analyst: Client) -> None:
    make_payouts(60)
    budget(10)
    request = ask(analyst, currency="EUR")
    assert request.job is not None
    waiting = analyst.get(f"{HOME}{request.pk}/").content.decode()
    assert "<progress" in waiting and f'hx-get="{HOME}{request.pk}/progress/"' in waiting and "Stop it" in waiting
    work_off(request.job)
    done = analyst.get(f"{HOME}{request.pk}/progress/").content.decode()
    assert "hx-get" not in done and "Download" in done and "Nobody has downloaded it yet" in done

    answer = analyst.post(f"{HOME}{request.pk}/download/", {"key": "d"})
    assert answer.status_code == 303
    assert (answer["Cache-Control"], answer["Referrer-Policy"]) == ("no-store", "no-referrer")
    rows = read_csv(fetch(answer["Location"]))
    assert len(rows) == 20 and {row["currency"] for row in rows} == {"EUR"}
    after = analyst.get(f"{HOME}{request.pk}/").content.decode()
    assert "<li>ana@acme.example" in after and "X-Amz" not in after
    listed = analyst.get(HOME).content.decode()
    assert f'href="{HOME}{request.pk}/"' in listed and "badge--ok" in listed


def test_a_small_export_is_done_when_the_page_comes(analyst: Client) -> None:
    make_payouts(5)
    request = ask(analyst)
    assert request.job is None
    assert "Download" in analyst.get(f"{HOME}{request.pk}/").content.decode()


def test_without_an_address_for_browsers_the_file_is_streamed(analyst: Client) -> None:
    make_payouts(5)
    request = ask(analyst)
    with override_settings(S3_PUBLIC_ENDPOINT_URL=""):
        answer = analyst.post(f"{HOME}{request.pk}/download/", {"key": "d"})
    data = b"".join(answer.streaming_content)  # type: ignore[attr-defined]  # a streamed answer
    assert answer.status_code == 200 and len(read_csv(data)) == 5
    assert answer["Content-Length"] == str(len(data)) and answer["Content-Disposition"].startswith("attachment;")


def test_a_refused_request_shows_the_words_and_keeps_the_fields(analyst: Client) -> None:
    make_payouts(5)
    SettingValue.objects.create(tenant=scope.current(), name="exports.payouts.max_rows", value=2)
    answer = analyst.post(NEW, {"key": "k", "encoding": "utf-8", "currency": ""})
    page = answer.content.decode()
    assert answer.status_code == 409 and "exports.payouts.max_rows" in page
    request = ExportRequest.objects.get()
    assert request.state == "failed" and "exports.payouts.max_rows" in request.failure


def test_cancelling_and_withdrawing_are_posts_that_answer_in_words(analyst: Client) -> None:
    make_payouts(5)
    budget(0)
    request = ask(analyst)
    assert analyst.get(f"{HOME}{request.pk}/cancel/").status_code == 405
    assert analyst.post(f"{HOME}{request.pk}/download/", {"key": "early"}).status_code == 409
    assert analyst.post(f"{HOME}{request.pk}/cancel/", {"key": "c"}).status_code == 303
    assert "It was stopped" in analyst.get(f"{HOME}{request.pk}/").content.decode()

    budget(100)
    analyst.post(NEW, {"key": "k2", "encoding": "utf-8"})
    second = ExportRequest.objects.latest("pk")
    assert analyst.post(f"{HOME}{second.pk}/cancel/", {"key": "c2"}).status_code == 409
    assert analyst.post(f"{HOME}{second.pk}/revoke/", {"key": "r"}).status_code == 303
    refused = analyst.post(f"{HOME}{second.pk}/download/", {"key": "d"})
    assert refused.status_code == 409 and "withdrawn" in refused.content.decode()


def test_an_expired_file_is_refused_in_words(analyst: Client) -> None:
    make_payouts(5)
    request = ask(analyst)
    artifact = Artifact.objects.get()
    Artifact.objects.update(
        created_at=artifact.created_at - timedelta(days=9), expires_at=artifact.expires_at - timedelta(days=4)
    )
    refused = analyst.post(f"{HOME}{request.pk}/download/", {"key": "d"})
    assert refused.status_code == 409 and "has expired" in refused.content.decode()


def addresses(request: ExportRequest) -> list[tuple[str, str]]:
    own = f"{HOME}{request.pk}/"
    return [
        ("get", HOME),
        ("get", NEW),
        ("post", NEW),
        ("get", own),
        ("get", f"{own}progress/"),
        ("post", f"{own}cancel/"),
        ("post", f"{own}download/"),
        ("post", f"{own}revoke/"),
    ]


@pytest.mark.case("TA-03")
@pytest.mark.proves("jobs#apply-item-read-authorization")
def test_without_the_right_every_address_is_refused_and_audited(
    analyst: Client, make_person: Callable[..., User], client_for: Callable[..., Client]
) -> None:
    make_payouts(5)
    request = ask(analyst)
    before = ExportRequest.objects.count()
    for roles in (("staff",), ("finance",), ("auditor",), ("supervisor",)):
        stranger = client_for(make_person(roles=roles))
        for method, address in addresses(request):
            answer = getattr(stranger, method)(address, {"key": "x", "encoding": "utf-8"})
            assert answer.status_code == 403, (roles, address)
    assert AuditEvent.objects.filter(act="page.open", code="not-permitted").count() == 4 * len(addresses(request))
    assert ExportRequest.objects.count() == before and not AuditEvent.objects.filter(act="artifact.download").exists()


@pytest.mark.proves("jobs#apply-item-read-authorization", "jobs#scope-export-output-to-the-tenant")
def test_a_person_of_another_tenant_finds_nothing_at_any_address(
    analyst: Client, other_tenant: Tenant, make_person: Callable[..., User], client_for: Callable[..., Client]
) -> None:
    make_payouts(5)
    request = ask(analyst)
    stranger = client_for(make_person(tenant=other_tenant, roles=("analyst",)))
    for method, address in addresses(request):
        assert getattr(stranger, method)(address, {"key": "x"}).status_code == 404, address
        within = address.replace("/t/acme/", "/t/globex/")
        if re.search(r"/\d+/", within):
            assert getattr(stranger, method)(within, {"key": "x"}).status_code == 404, within


def test_a_visitor_is_asked_to_sign_in(analyst: Client) -> None:
    make_payouts(1)
    for method, address in addresses(ask(analyst)):
        answer: Any = getattr(Client(), method)(address, {"key": "x"})
        assert answer.status_code == 302 and answer["Location"].startswith("/sign-in/"), address


@pytest.mark.parametrize("address", [f"{HOME}new/nothing/", f"{HOME}999999/", f"{HOME}99999999999999999999/"])
def test_an_unknown_export_is_not_found(address: str, analyst: Client) -> None:
    assert analyst.get(address).status_code == 404


def test_the_list_goes_on_by_key(analyst: Client, tenant: Tenant) -> None:
    make_payouts(1)
    person = User.objects.get(email="ana@acme.example")
    for _ in range(30):
        ExportRequest.objects.create(
            tenant=tenant, definition="payouts", encoding="utf-8", requested_by=person, failure_code="x", failure="no"
        )
    first = analyst.get(HOME).content.decode()
    older = re.search(r'href="(\?before=\d+)"', first)
    assert older and first.count("badge--bad") == 25
    assert analyst.get(HOME + older[1]).content.decode().count("badge--bad") == 5
    assert analyst.get(HOME + "?before=x'").status_code == 200
