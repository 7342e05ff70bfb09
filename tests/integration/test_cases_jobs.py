"""Faults of other job engines: a finished job that changes, a delayed one that runs twice, a record that is gone."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from backoffice import jobs
from backoffice.audit.models import AuditEvent
from backoffice.jobs import dispatching, reconciling, settling
from backoffice.jobs.base import kinds
from backoffice.jobs.models import Job, JobEvent, JobStep
from backoffice.jobs.settling import Ground
from backoffice.jobs.states import JobState
from backoffice.tenants.models import Tenant, User
from tests.probe_jobs import claiming, processes
from tests.probe_jobs.definitions import probes  # noqa: F401  (registers the probes)


def _sql(text: str, *values: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute(text, values)


def _effects(job: Job) -> int:
    return AuditEvent.objects.filter(act="probe.mark", outcome="done", target__startswith=f"probe:{job.pk}:").count()


@pytest.mark.case("JE-01")
def test_two_hundred_jobs_on_six_workers_end_once_and_stay_as_they_ended(tenant: Tenant, tmp_path: Path) -> None:
    made = [jobs.submit(kind="probe.idle", key=str(number)) for number in range(200)]
    with ExitStack() as stack:
        for _worker in range(6):
            stack.enter_context(processes.running("worker", "interactive", log=tmp_path / "worker.log"))

        def all_ended() -> bool:
            reconciling.reconcile()  # the clean-up, all the while
            return not Job.objects.filter(settled_at=None).exists()

        processes.wait_until(all_ended, within=120)
        ended = list(Job.objects.order_by("pk").values("pk", "state", "attempt", "fence", "settled_at"))
        for _time in range(3):
            reconciling.reconcile()
    assert len(ended) == len(made)
    assert {(one["state"], one["attempt"], one["fence"]) for one in ended} == {("succeeded", 1, 1)}
    assert list(Job.objects.order_by("pk").values("pk", "state", "attempt", "fence", "settled_at")) == ended
    assert JobEvent.objects.filter(name="succeeded").count() == 200 and not JobEvent.objects.filter(name="failed")


@pytest.mark.case("JE-04")
def test_a_delayed_job_runs_once_and_never_before_its_time(tenant: Tenant, tmp_path: Path) -> None:
    job = jobs.submit(kind="probe.steps", key="a")
    _sql(
        "UPDATE job SET available_at = clock_timestamp() + interval '5 seconds', dispatch_at = clock_timestamp()"
        " WHERE id = %s",
        job.pk,
    )
    job.refresh_from_db()
    with ExitStack() as stack:
        for _worker in range(3):
            stack.enter_context(processes.running("worker", "interactive", log=tmp_path / "worker.log"))

        def ended() -> bool:
            # Handed out again and again before its time, as an engine does whose hand-out is forgotten after 2 s.
            dispatching.push([dispatching.Dispatch(job.pk, 1, "interactive")])
            reconciling.reconcile()
            return Job.objects.get(pk=job.pk).is_final

        processes.wait_until(ended, within=60)
    claimed = job.events.filter(name="claimed").get()
    assert claimed.at >= job.available_at
    job.refresh_from_db()
    assert (job.state, job.attempt, _effects(job)) == ("succeeded", 1, 3)


@pytest.mark.case("JE-09")
def test_a_record_that_is_gone_breaks_no_page_and_no_worker(
    tenant: Tenant, make_person: Callable[..., User], client_for: Callable[..., Client], monkeypatch: Any
) -> None:
    person = make_person(roles=("supervisor",))
    gone, kept, unknown = [
        jobs.submit(kind=kind, key=kind, requested_by=person)
        for kind in ("probe.steps", "probe.idle", "probe.weighted")
    ]
    for job in (gone, kept, unknown):
        held = claiming.claim(job)
        settling.settle(job_id=job.pk, fence=held.job.fence, state=JobState.FAILED, ground=Ground.KEEPER, reason="No.")
    JobEvent.objects.filter(job=gone).delete()
    JobStep.objects.filter(job=gone).delete()
    _sql("DELETE FROM job_notice WHERE job_id = %s", gone.pk)
    _sql("DELETE FROM job WHERE id = %s", gone.pk)
    JobEvent.objects.filter(job=kept).delete()  # its history alone is gone
    monkeypatch.delitem(kinds._by_name, "probe.weighted")
    client = client_for(person)
    for path in ("jobs/?state=failed", "jobs/", "notices/", f"jobs/{kept.pk}/", f"jobs/{unknown.pk}/"):
        page = client.get(f"/t/{tenant.slug}/{path}")
        assert page.status_code == 200, path
    listed = client.get(f"/t/{tenant.slug}/jobs/?state=failed").content.decode()
    assert f"/jobs/{kept.pk}/" in listed and f"/jobs/{unknown.pk}/" in listed and f"/jobs/{gone.pk}/" not in listed
    assert client.get(f"/t/{tenant.slug}/jobs/{gone.pk}/").status_code == 404
    dispatching.push([dispatching.Dispatch(gone.pk, 1, "interactive")])
    after = jobs.submit(kind="probe.idle", key="after")
    with processes.running("worker", "interactive", "--burst") as worker:
        assert worker.wait(60) == 0
    after.refresh_from_db()
    assert after.state == "succeeded"
