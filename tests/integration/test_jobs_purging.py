"""Jobs leave: past their retention, and with their tenant."""

from __future__ import annotations

from datetime import timedelta

import pytest

from backoffice import clock, jobs
from backoffice.jobs import purging, running
from backoffice.jobs.models import Job, JobEvent, JobStep
from backoffice.jobs.running import Exit, Run
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant
from tests.probe_jobs import claiming
from tests.probe_jobs.definitions import probes  # noqa: F401  (registers the probes)


def _counts(tenant: Tenant) -> tuple[int, int, int]:
    with scope.open(tenant):
        return Job.objects.count(), JobStep.objects.count(), JobEvent.objects.count()


def test_ended_jobs_leave_after_their_retention_in_batches(tenant: Tenant, other_tenant: Tenant) -> None:
    for number in range(3):
        claiming.run(jobs.submit(kind="probe.idle", key=str(number)))
    live = jobs.submit(kind="probe.idle", key="live")
    with scope.open(other_tenant):
        claiming.run(jobs.submit(kind="probe.idle", key="theirs"))
    assert purging.purge_ended(before=clock.now() - timedelta(hours=1)) == 0
    assert purging.purge_ended(before=clock.now() + timedelta(minutes=1), limit=2) == 2
    assert purging.purge_ended(before=clock.now() + timedelta(minutes=1), limit=2) == 1
    assert list(Job.objects.values_list("pk", flat=True)) == [live.pk]
    assert _counts(tenant) == (1, 3, 1)
    assert _counts(other_tenant) == (1, 3, 9)


@pytest.mark.proves("record#10")
def test_deleting_a_tenant_removes_its_jobs_and_keeps_the_deletions_own(tenant: Tenant, other_tenant: Tenant) -> None:
    claiming.run(jobs.submit(kind="probe.idle", key="ended"))
    jobs.submit(kind="probe.idle", key="waiting")
    going = claiming.claim(jobs.submit(kind="probe.idle", key="running"))
    with scope.open(other_tenant):
        jobs.submit(kind="probe.idle", key="theirs")
    with scope.open(Tenant.objects.get(slug="platform")):
        first = jobs.submit(kind="jobs.purge-tenant", key="delete-acme", arguments={"tenant": tenant.pk})
        later = jobs.submit(kind="jobs.purge-tenant", key="delete-acme-again", arguments={"tenant": tenant.pk})
        held = claiming.claim(first)
    # The run that still goes observes the deletion at its next step, and ends.
    purge = Run(job=held.job, steps=held.steps)
    original = purge.check_cancelled

    def meanwhile() -> None:
        running.work(Run(job=going.job, steps=going.steps))
        original()

    purge.check_cancelled = meanwhile  # type: ignore[method-assign]  # what happens meanwhile
    assert running.work(purge) is Exit.RECORDED
    assert _counts(tenant) == (0, 0, 0)
    assert _counts(other_tenant) == (1, 3, 1)
    with scope.open(Tenant.objects.get(slug="platform")):
        assert {job.pk: job.state for job in Job.objects.all()} == {first.pk: "succeeded", later.pk: "queued"}
        assert JobEvent.objects.filter(job=first).count() == 5
