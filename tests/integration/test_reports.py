"""A report from its request to its table, its plot and its file, on the real servers."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.test import Client

from backoffice import commands, reading, sql, storage
from backoffice.audit.models import AuditEvent
from backoffice.commands import Actor
from backoffice.errors import NotPermitted, Refusal
from backoffice.livesettings.models import SettingValue
from backoffice.storage.models import Artifact
from backoffice.tenants import scope
from backoffice.tenants.models import Membership, Tenant, User
from reports import providing, requesting
from reports.base import reports
from reports.models import ReportRequest
from tests.making_files import fetch, make_payouts, read_csv, work_off

AGEING = reports.get("payout-ageing")
ASKED = {"as_of": "2026-03-31", "opened_from": "2025-01-01", "opened_to": "2026-03-31"}
HOME = "/t/acme/reports/"


@pytest.fixture
def analyst(make_person: Callable[..., User]) -> User:
    return make_person(roles=("analyst",))


def at(day: str) -> datetime:
    return datetime.fromisoformat(f"{day}T12:00:00Z")


def ask(person: User, *, key: str = "k", **changed: str) -> ReportRequest:
    return requesting.request(
        actor=Actor.person(person),
        key=key,
        definition=AGEING,
        parameters={**ASKED, **changed},
        encoding="utf-8",
    )


def setting(name: str, value: int) -> None:
    SettingValue.objects.update_or_create(tenant=scope.current(), name=name, defaults={"value": value})


def made(request: ReportRequest) -> Artifact:
    assert request.job is not None
    job = work_off(request.job)
    assert job.state == "succeeded", job.safe_reason
    request.refresh_from_db()
    assert request.artifact is not None
    return request.artifact


def test_ages_are_counted_by_currency_and_state_and_totals_add_up(tenant: Tenant, analyst: User) -> None:
    make_payouts(2, opened_at=at("2026-03-30"), amount=Decimal("10.50"), currency="EUR")
    make_payouts(1, opened_at=at("2026-03-24"), amount=Decimal("1"), currency="EUR")
    make_payouts(1, opened_at=at("2026-03-23"), amount=Decimal("2"), currency="EUR", state="held")
    make_payouts(1, opened_at=at("2026-02-28"), amount=Decimal("3"), currency="JPY")
    make_payouts(1, opened_at=at("2025-06-01"), amount=Decimal("4"), currency="JPY", state="approved")
    make_payouts(1, opened_at=at("2026-03-01"), state="paid")
    make_payouts(1, opened_at=at("2026-04-01"))
    artifact = made(ask(analyst))
    assert artifact.preview == [
        ["0 to 7", "EUR", "pending", 3, "22.0000", 7],
        ["8 to 30", "EUR", "held", 1, "2.0000", 8],
        ["31 to 90", "JPY", "pending", 1, "3.0000", 31],
        ["over 90", "JPY", "approved", 1, "4.0000", 303],
    ]
    rows = read_csv(storage.get(key=artifact.object_key))
    assert [[row["days_old"], row["total"]] for row in rows] == [[row[0], row[4]] for row in artifact.preview]
    assert sum(int(row["payouts"]) for row in rows) == 6
    assert artifact.object_key.startswith(f"tenants/acme/reports/{ReportRequest.objects.get().pk}/")


def test_an_age_is_counted_in_days_of_the_tenants_own_calendar(tenant: Tenant, analyst: User) -> None:
    tenant.time_zone = "America/New_York"
    tenant.save()
    for instant in ("2021-02-17T23:57:53Z", "2021-02-18T00:01:33Z"):
        make_payouts(1, opened_at=datetime.fromisoformat(instant))
    artifact = made(ask(analyst, as_of="2021-02-18", opened_from="2021-02-17", opened_to="2021-02-17"))
    assert [(row[3], row[5]) for row in artifact.preview] == [(2, 1)]


@pytest.mark.proves("jobs#apply-item-read-authorization")
def test_another_tenants_payouts_are_in_no_total(tenant: Tenant, other_tenant: Tenant, analyst: User) -> None:
    make_payouts(12, opened_at=at("2026-03-30"))
    with scope.open(other_tenant):
        make_payouts(28, opened_at=at("2026-03-30"))
    assert sum(row[3] for row in made(ask(analyst)).preview) == 12


@pytest.mark.proves("jobs#apply-item-read-authorization", "jobs#parameterize-report-sql")
def test_even_with_another_tenant_bound_the_database_shows_only_the_open_one(
    tenant: Tenant, other_tenant: Tenant
) -> None:
    with scope.open(other_tenant):
        make_payouts(28, opened_at=at("2026-03-30"))
    form = AGEING.form(ASKED)
    assert form.is_valid()
    zone = ZoneInfo("UTC")
    values = {**providing.bound(AGEING, form.cleaned_data, zone=zone, row_limit=10), "tenant": other_tenant.pk}
    with reading.session(tenant=tenant, timeout=timedelta(minutes=1), name="test") as session:
        assert session.rows(sql.read(providing.FOLDER / AGEING.sql), values) == []


@pytest.mark.proves("jobs#define-report-limits")
@pytest.mark.parametrize(
    ("bound", "value", "code"),
    [
        ("reports.payout-ageing.max_days", 30, "range-too-wide"),
        ("reports.payout-ageing.max_concurrent", 0, "too-many-running"),
    ],
)
def test_a_bound_of_the_request_refuses_it_and_is_named(
    bound: str, value: int, code: str, tenant: Tenant, analyst: User
) -> None:
    setting(bound, value)
    with pytest.raises(Refusal, match=code) as refusal:
        ask(analyst)
    assert bound in str(refusal.value.message)
    assert not ReportRequest.objects.exists()


@pytest.mark.proves("jobs#define-report-limits")
@pytest.mark.parametrize(
    ("bound", "value", "code"),
    [
        ("reports.payout-ageing.max_rows", 2, "too-many-rows"),
        ("reports.payout-ageing.max_seconds", 0, "too-long"),
        ("reports.payout-ageing.max_megabytes", 0, "too-large"),
        ("reports.payout-ageing.max_days", 30, "range-too-wide"),
    ],
)
def test_a_bound_of_the_run_fails_it_and_is_named(
    bound: str, value: int, code: str, tenant: Tenant, analyst: User
) -> None:
    make_payouts(9, opened_at=at("2026-03-30"))
    request = ask(analyst)
    setting(bound, value)
    assert request.job is not None
    job = work_off(request.job)
    assert (job.state, job.code) == ("failed", code) and bound in job.safe_reason
    assert not Artifact.objects.exists()


@pytest.mark.proves("jobs#define-report-limits")
def test_a_report_is_kept_as_long_as_its_setting_says(tenant: Tenant, analyst: User) -> None:
    setting("reports.payout-ageing.lifetime_hours", 2)
    artifact = made(ask(analyst))
    assert artifact.expires_at - artifact.created_at <= timedelta(hours=2, seconds=1)


@pytest.mark.proves("jobs#apply-item-read-authorization")
def test_rights_are_asked_at_the_request_and_again_at_the_run(
    tenant: Tenant, analyst: User, make_person: Callable[..., User]
) -> None:
    with pytest.raises(NotPermitted):
        ask(make_person(roles=("finance",)))
    request = ask(analyst)
    Membership.objects.filter(user=analyst).update(roles=["auditor"])
    assert request.job is not None
    assert work_off(request.job).code == "permission-lost"


@pytest.mark.proves("jobs#support-report-cancellation")
def test_a_report_is_cancelled_and_an_expired_one_is_removed_with_its_table(tenant: Tenant, analyst: User) -> None:
    request = ask(analyst, key="1")
    requesting.cancel(actor=Actor.person(analyst), key="c", request=request)
    assert ReportRequest.objects.get(pk=request.pk).state == "cancelled"

    make_payouts(3, opened_at=at("2026-03-30"))
    artifact = made(ask(analyst, key="2"))
    Artifact.objects.update(created_at=at("2026-01-01"), expires_at=at("2026-01-02"))
    commands.dispatch(
        storage.expire_artifact, actor=Actor.system("shell", acting_for="test"), key="e", artifact_id=artifact.pk
    )
    artifact.refresh_from_db()
    assert artifact.preview is None and not storage.exists(key=artifact.object_key)


@pytest.mark.proves("jobs#review-report-plans")
def test_on_representative_data_the_plan_is_one_pass_and_stays_within_its_latency(
    tenant: Tenant, other_tenant: Tenant, superuser: Any
) -> None:
    fill = (
        "INSERT INTO queues_payout (tenant_id, reference, state, opened_at, beneficiary, account, amount, currency)"
        " SELECT %s, 'P' || i, (ARRAY['pending', 'held', 'approved', 'paid'])[1 + i %% 4],"
        " timestamptz '2026-03-31' - (i %% 400) * interval '1 day', 'Payee', 'A' || i, 1 + i %% 1000,"
        " (ARRAY['EUR', 'USD', 'JPY', 'GBP', 'KWD'])[1 + i %% 5] FROM generate_series(1, %s) AS i"
    )
    for place, rows in ((tenant, 200_000), (other_tenant, 50_000)):
        superuser.execute(fill, [place.pk, rows])
    superuser.execute("ANALYZE queues_payout")
    form = AGEING.form(ASKED)
    assert form.is_valid() and AGEING.need is not None
    values = providing.bound(AGEING, form.cleaned_data, zone=ZoneInfo("UTC"), row_limit=1_001)
    text = sql.read(providing.FOLDER / AGEING.sql)
    with reading.session(tenant=tenant, timeout=timedelta(minutes=1), name="test") as session:
        plan = "\n".join(row[0] for row in session.rows("EXPLAIN " + text, values))
        started = time.monotonic()
        rows = session.rows(text, values)
    assert time.monotonic() - started < AGEING.need.latency.total_seconds()
    assert plan.count("on queues_payout") == 1 and "Nested Loop" not in plan, plan
    assert sum(row[3] for row in rows) == 150_000 and len(rows) <= 4 * 5 * 3


@pytest.mark.proves("jobs#audit-export-reads")
def test_the_page_shows_the_table_and_a_plot_and_hands_the_file_over(
    tenant: Tenant, analyst: User, client_for: Callable[..., Client]
) -> None:
    make_payouts(7, opened_at=at("2026-03-30"))
    client = client_for(analyst)
    form = client.get(f"{HOME}new/payout-ageing/").content.decode()
    assert 'name="as_of"' in form and "finance-operations" in form
    answer = client.post(f"{HOME}new/payout-ageing/", {**ASKED, "key": "k", "encoding": "utf-8-sig"})
    assert answer.status_code == 303
    request = ReportRequest.objects.get()
    assert request.job is not None
    work_off(request.job)
    page = client.get(answer["Location"]).content.decode()
    assert "<svg" in page and "<rect" in page and "style=" not in page.split('id="state"')[1]
    assert "0 to 7" in page and '<td class="money">3</td>' in page and "EUR 12.75" in page
    link = client.post(f"{answer['Location']}download/", {"key": "d"})
    assert link.status_code == 303 and len(read_csv(fetch(link["Location"]))) == 3
    assert client.get(HOME).status_code == 200
    published = AuditEvent.objects.get(act="report.publish")
    assert published.target == f"reports:{request.pk}" and "preview" not in published.data["arguments"]


@pytest.mark.parametrize(
    "changed",
    [{"as_of": ""}, {"as_of": "x"}, {"opened_from": "2026-04-01"}, {"opened_from": "1066-10-14"}],
)
def test_parameters_are_typed_and_said_at_their_field(
    changed: dict[str, str], tenant: Tenant, analyst: User, client_for: Callable[..., Client]
) -> None:
    answer = client_for(analyst).post(
        f"{HOME}new/payout-ageing/", {**ASKED, **changed, "key": "k", "encoding": "utf-8"}
    )
    assert answer.status_code == 422 and not ReportRequest.objects.exists()


@pytest.mark.proves("jobs#apply-item-read-authorization")
def test_others_find_nothing(
    tenant: Tenant,
    other_tenant: Tenant,
    analyst: User,
    make_person: Callable[..., User],
    client_for: Callable[..., Client],
) -> None:
    request = ask(analyst)
    stranger = client_for(make_person(tenant=other_tenant, roles=("analyst",)))
    staff = client_for(make_person(roles=("staff",)))
    for address in (HOME, f"{HOME}new/payout-ageing/", f"{HOME}{request.pk}/", f"{HOME}{request.pk}/progress/"):
        assert stranger.get(address).status_code == 404
        assert staff.get(address).status_code == 403
    assert stranger.post(f"/t/globex/reports/{request.pk}/download/", {"key": "x"}).status_code == 404
