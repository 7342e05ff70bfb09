"""An export from its request to its download, on the real servers."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from backoffice import jobs, storage
from backoffice.audit.models import AuditEvent
from backoffice.commands import Actor
from backoffice.errors import NotPermitted, Refusal
from backoffice.jobs.models import Job
from backoffice.jobs.running import Run, work
from backoffice.livesettings.models import SettingValue
from backoffice.storage.models import Artifact
from backoffice.tenants import scope
from backoffice.tenants.models import Membership, Tenant, User
from exports import requesting, running
from exports.base import exports
from exports.encoders import escaping
from exports.models import ExportRequest
from queues.models import Payout
from tests.making_files import Watcher, claim, make_payouts, read_csv, work_off

PAYOUTS = exports.get("payouts")
HOSTILE = Path(__file__).resolve().parents[3] / "shared" / "data" / "hostile-strings"


@pytest.fixture
def analyst(make_person: Callable[..., User]) -> User:
    return make_person(roles=("analyst",))


def setting(name: str, value: int) -> None:
    SettingValue.objects.update_or_create(tenant=scope.current(), name=name, defaults={"value": value})


def ask(person: User, *, key: str = "k", encoding: str = "utf-8", **filters: str) -> ExportRequest:
    return requesting.request(
        actor=Actor.person(person), key=key, definition=PAYOUTS, filters=filters, encoding=encoding
    )


def ask_for_job(person: User, **wanted: Any) -> ExportRequest:
    setting("exports.payouts.request_budget", 0)
    made = ask(person, **wanted)
    assert made.job is not None
    return made


def content(request: ExportRequest) -> bytes:
    request.refresh_from_db()
    assert request.artifact is not None, request.failure
    return storage.get(key=request.artifact.object_key)


def stored(request: ExportRequest) -> list[str]:
    return storage.list_keys(prefix=storage.folder(area="exports", request_id=request.pk))


@pytest.mark.proves(
    "jobs#protect-export-output",
    "jobs#scope-export-output-to-the-tenant",
    "jobs#run-budget-exceeding-exports-in-worker",
)
def test_past_its_budget_an_export_runs_in_a_worker_and_the_file_equals_the_table(
    tenant: Tenant, analyst: User
) -> None:
    make_payouts(2_500)
    setting("exports.payouts.request_budget", 2_499)
    request = ask(analyst, encoding="utf-8-sig")
    assert request.job is not None and request.job.queue == "bulk" and request.state == "queued"
    assert work_off(request.job).state == "succeeded", request.job.safe_reason
    rows = read_csv(content(request))
    table = list(Payout.objects.order_by("id"))
    assert [int(row["id"]) for row in rows] == [payout.pk for payout in table]
    for row, payout in zip(rows, table, strict=True):
        assert (row["reference"], row["beneficiary"], row["account"], row["currency"], row["state"]) == (
            payout.reference,
            payout.beneficiary,
            f"••••{payout.account[-4:]}",  # an analyst's roles show no more
            payout.currency,
            payout.state,
        )
        assert Decimal(row["amount"]) == payout.amount and "E" not in row["amount"]
        assert datetime.fromisoformat(row["opened_at"]) == payout.opened_at
    artifact = request.artifact
    assert artifact is not None
    assert artifact.object_key == f"tenants/acme/exports/{request.pk}/{request.job.fence}/data"
    assert artifact.contact == "finance-operations"
    assert timedelta(hours=71) < artifact.expires_at - artifact.created_at <= timedelta(hours=72, seconds=1)


@pytest.mark.proves("jobs#run-budget-exceeding-exports-in-worker")
def test_within_its_budget_the_same_run_happens_in_the_request(tenant: Tenant, analyst: User) -> None:
    make_payouts(40)
    setting("exports.payouts.request_budget", 40)
    inside = ask(analyst, key="inside")
    assert inside.job is None and inside.state == "done"
    worked = ask_for_job(analyst, key="worked")
    assert worked.job is not None
    work_off(worked.job)
    assert content(inside) == content(worked)
    ones = [request.artifact.manifest for request in (inside, worked) if request.artifact]
    for manifest in ones:
        manifest.pop("as_of")
    assert ones[0] == ones[1]
    published = AuditEvent.objects.filter(act="export.publish", outcome="done")
    assert sorted(event.target for event in published) == [f"exports:{inside.pk}", f"exports:{worked.pk}"]


@pytest.mark.proves("jobs#audit-export-reads")
def test_request_and_publication_are_audited_with_reason_and_target(tenant: Tenant, analyst: User) -> None:
    make_payouts(3)
    request = ask(analyst, state="pending")
    events = AuditEvent.objects.filter(target=f"exports:{request.pk}").order_by("id")
    assert [(event.act, event.data["result"]["reason"]) for event in events] == [
        ("export.request", "bulk read of payee data"),
        ("export.publish", "bulk read of payee data"),
    ]
    assert events[0].actor == analyst.email and analyst.email in events[1].acting_for
    assert events[1].data["result"]["rows"] == 3


def test_a_form_sent_twice_asks_once(tenant: Tenant, analyst: User) -> None:
    make_payouts(3)
    first, second = ask(analyst, key="same"), ask(analyst, key="same")
    assert first == second and Artifact.objects.count() == 1


@pytest.mark.proves("jobs#define-export-encoding-and-columns")
def test_the_manifest_says_what_the_file_holds(tenant: Tenant, analyst: User) -> None:
    make_payouts(7, texts=["=1+1", "plain"])
    request = ask(analyst, currency="EUR")
    data = content(request)
    artifact = request.artifact
    assert artifact is not None
    manifest = artifact.manifest
    assert manifest["rows"] == 3 and manifest["bytes"] == len(data) == artifact.bytes
    assert manifest["encoding"] == "utf-8" and manifest["filters"] == {"currency": "EUR"}
    assert manifest["columns"] == list(PAYOUTS.contract)
    assert manifest["escaped"] == {"description": 2} and manifest["replaced_characters"] == 0
    assert manifest["sha256"] == hashlib.sha256(data).hexdigest()
    assert data.splitlines()[0] == b"id,reference,state,beneficiary,account,amount,currency,description,opened_at,score"


@pytest.mark.case("RP-07")
def test_filters_hold_and_days_are_the_tenants(tenant: Tenant, analyst: User) -> None:
    tenant.time_zone = "America/New_York"
    tenant.save()
    make_payouts(1, opened_at=datetime.fromisoformat("2021-02-17T23:57:53Z"), reference="one")
    make_payouts(1, opened_at=datetime.fromisoformat("2021-02-18T00:01:33Z"), reference="two")
    make_payouts(1, opened_at=datetime.fromisoformat("2021-02-18T05:00:00Z"), reference="next day")
    rows = read_csv(content(ask(analyst, opened_from="2021-02-17", opened_to="2021-02-17")))
    assert [row["reference"] for row in rows] == ["one", "two"]
    assert rows[0]["opened_at"] == "2021-02-17T18:57:53.000000-05:00"
    assert read_csv(content(ask(analyst, key="2", state="held"))) == []


@pytest.mark.case("TA-07")
@pytest.mark.proves("jobs#apply-item-read-authorization")
def test_another_tenants_rows_are_in_no_file(tenant: Tenant, other_tenant: Tenant, analyst: User) -> None:
    make_payouts(12)
    with scope.open(other_tenant):
        make_payouts(28, reference="THEIRS")
    rows = read_csv(content(ask(analyst)))
    assert len(rows) == 12 and "THEIRS" not in {row["reference"] for row in rows}


@pytest.mark.proves("jobs#escape-formula-leading-export-values", "jobs#define-export-encoding-and-columns")
@pytest.mark.skipif(not HOSTILE.is_dir(), reason="the files of hostile strings are not on this machine")
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_hostile_strings_come_back_from_the_file_as_they_are_in_the_table(
    encoding: str, tenant: Tenant, analyst: User
) -> None:
    texts = [t for t in json.loads((HOSTILE / "blns.json").read_text(encoding="utf-8")) if "\x00" not in t]
    texts += (HOSTILE / "Intruder" / "csv-payload.txt").read_text(encoding="utf-8").splitlines()
    texts += ["value1\r", "a\r\nb", "＝1+1", "\u3000@x", "'=1", "", "\t=1", "-", "\ufeff=1", "\\.", "\\N"]
    texts = [text[:300] for text in texts]
    make_payouts(len(texts), texts=texts)
    request = ask(analyst, encoding=encoding)
    rows = read_csv(content(request), encoding=encoding)
    assert [escaping.restore(row["description"]) for row in rows] == texts
    assert [row["description"] for row in rows] == [escaping.escape(text) for text in texts]
    assert request.artifact is not None
    assert request.artifact.manifest["escaped"] == {
        "description": sum(escaping.leads_a_formula(text) for text in texts)
    }


@pytest.mark.case("TA-07")
@pytest.mark.proves("jobs#apply-item-read-authorization")
@pytest.mark.parametrize("roles", [["auditor"], ["staff"], None])
def test_a_permission_lost_between_request_and_run_fails_the_run_in_words(
    roles: list[str] | None, tenant: Tenant, analyst: User
) -> None:
    make_payouts(5)
    request = ask_for_job(analyst)
    assert request.job is not None
    if roles is None:
        User.objects.filter(pk=analyst.pk).update(is_active=False)
    else:
        Membership.objects.filter(user=analyst).update(roles=roles)
    job = work_off(request.job)
    assert (job.state, job.code) == ("failed", "permission-lost")
    assert "may no longer see it" in job.safe_reason
    assert stored(request) == [] and not Artifact.objects.exists()


@pytest.mark.proves("jobs#apply-item-read-authorization")
def test_asking_needs_the_exports_right_and_the_rows_right(tenant: Tenant, make_person: Callable[..., User]) -> None:
    make_payouts(1)
    for roles in (("staff",), ("finance",), ("auditor",)):
        with pytest.raises(NotPermitted):
            ask(make_person(roles=roles))
    assert AuditEvent.objects.filter(act="export.request", outcome="refused").count() == 3
    assert not ExportRequest.objects.exists()


@pytest.mark.parametrize(
    ("bound", "value", "code"),
    [
        ("exports.payouts.max_rows", 499, "too-many-rows"),
        ("exports.payouts.max_megabytes", 0, "too-large"),
        ("exports.payouts.max_seconds", 0, "too-long"),
    ],
)
def test_a_bound_that_is_hit_fails_the_run_and_names_it(
    bound: str, value: int, code: str, tenant: Tenant, analyst: User
) -> None:
    make_payouts(500)
    request = ask_for_job(analyst)
    setting(bound, value)
    assert request.job is not None
    job = work_off(request.job)
    assert (job.state, job.code) == ("failed", code)
    assert bound in job.safe_reason
    assert stored(request) == [] and not Artifact.objects.exists()


def test_only_so_many_run_at_once(tenant: Tenant, analyst: User) -> None:
    setting("exports.payouts.max_concurrent", 2)
    make_payouts(2)
    ask_for_job(analyst, key="1")
    second = ask_for_job(analyst, key="2")
    with pytest.raises(Refusal, match="too-many-running"):
        ask(analyst, key="3")
    assert second.job is not None
    work_off(second.job)
    ask(analyst, key="3")


def test_a_run_that_breaks_half_way_publishes_nothing_and_is_tried_again(
    tenant: Tenant, analyst: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_payouts(30)
    request = ask_for_job(analyst)
    assert request.job is not None
    upload = storage.put_file

    def break_after(**arguments: Any) -> None:
        upload(**arguments)
        raise ConnectionResetError("the line broke")

    monkeypatch.setattr("backoffice.storage.put_file", break_after)
    job = work_off(request.job)
    assert job.state == "queued" and job.attempt == 1
    assert stored(request) == [] and not Artifact.objects.exists()
    monkeypatch.undo()
    Job.objects.filter(pk=job.pk).update(available_at=datetime.fromisoformat("2020-01-01T00:00:00Z"))
    assert work_off(job).state == "succeeded"
    assert len(read_csv(content(request))) == 30
    assert stored(request) == [f"tenants/acme/exports/{request.pk}/2/data"]


def test_a_stale_worker_publishes_nothing(tenant: Tenant, analyst: User) -> None:
    make_payouts(5)
    request = ask_for_job(analyst)
    assert request.job is not None
    stale = claim(request.job)
    Job.objects.filter(pk=request.job.pk).update(fence=stale.fence + 1)
    with pytest.raises(jobs.StaleFence):
        running.run(request, fence=stale.fence, watch=Watcher(), guard=stale.guard)
    assert not Artifact.objects.exists() and stored(request) == []


@pytest.mark.proves("jobs#support-report-cancellation")
def test_a_waiting_export_is_cancelled_at_once(tenant: Tenant, analyst: User) -> None:
    make_payouts(1)
    request = ask_for_job(analyst)
    requesting.cancel(actor=Actor.person(analyst), key="c", request=request)
    request = ExportRequest.objects.get(pk=request.pk)
    assert request.state == "cancelled"


@pytest.mark.proves("jobs#support-report-cancellation")
def test_a_running_export_stops_between_two_pages_and_leaves_nothing(tenant: Tenant, analyst: User) -> None:
    make_payouts(10)
    request = ask_for_job(analyst)
    with pytest.raises(jobs.Cancelled):
        running.run(request, fence=1, watch=Watcher(stop_after=1))
    assert not Artifact.objects.exists() and stored(request) == []


@pytest.mark.proves("jobs#support-report-cancellation")
def test_cancelling_ends_the_running_query_and_the_job(tenant: Tenant, analyst: User, superuser: Any) -> None:
    make_payouts(3)
    request = ask_for_job(analyst)
    assert request.job is not None
    run = claim(request.job)
    superuser.execute("BEGIN")
    superuser.execute("LOCK TABLE queues_payout IN ACCESS EXCLUSIVE MODE")
    try:
        horse = _horse(run)
        horse.start()
        _until(lambda: _queries(request) == 1)
        requesting.cancel(actor=Actor.person(analyst), key="c", request=request)
        horse.join(20)
        assert not horse.is_alive()
        _until(lambda: _queries(request) == 0)
    finally:
        superuser.execute("ROLLBACK")
    assert Job.objects.get(pk=request.job.pk).state == "cancelled"
    assert not Artifact.objects.exists()


def _horse(run: Run) -> threading.Thread:
    def whole() -> None:
        try:
            work(run)
        finally:
            connection.close()

    return threading.Thread(target=whole)


def _queries(request: ExportRequest) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s AND state = 'active'",
            [f"exports:{request.pk}"],
        )
        return int(cursor.fetchone()[0])


def _until(true: Callable[[], bool], *, within: float = 10) -> None:
    until = time.monotonic() + within
    while not true():
        assert time.monotonic() < until, "it did not come true in time"
        time.sleep(0.05)
