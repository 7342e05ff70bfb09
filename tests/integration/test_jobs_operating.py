"""Cancelling a job and running it again: who may, and what becomes of it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection

from backoffice import commands, jobs
from backoffice.commands import Actor
from backoffice.errors import NotPermitted, Refusal
from backoffice.jobs import running, settling
from backoffice.jobs.errors import Cancelled
from backoffice.jobs.models import Job
from backoffice.jobs.running import Exit, Run
from backoffice.jobs.settling import Ground
from backoffice.jobs.states import EventName, JobState
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant
from tests.probe_jobs import claiming
from tests.probe_jobs.definitions import probes  # noqa: F401  (registers the probes)


def _sql(text: str, *values: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute(text, values)


def _names(job: Job) -> list[str]:
    return list(job.events.order_by("seq").values_list("name", flat=True))


def _submitted(kind: str = "probe.idle", **arguments: int | str) -> Job:
    return jobs.submit(kind=kind, key="a", arguments=arguments)


def test_a_waiting_job_is_cancelled_at_once_and_a_running_one_observes_it(tenant: Tenant, make_person) -> None:
    person = make_person(roles=("analyst",))
    job = jobs.submit(kind="probe.polite", key="a", requested_by=person)
    actor = Actor.person(person)
    assert commands.dispatch(jobs.cancel, actor=actor, key="k1", job_id=job.pk).data == {"state": "cancelled"}
    job.refresh_from_db()
    assert job.state == "cancelled"
    with pytest.raises(Refusal):
        commands.dispatch(jobs.cancel, actor=actor, key="k2", job_id=job.pk)

    job = jobs.submit(kind="probe.idle", key="b", requested_by=person)
    held = claiming.claim(job)
    run = Run(job=held.job, steps=held.steps)
    commands.dispatch(jobs.cancel, actor=actor, key="k3", job_id=job.pk)
    with claiming.keeper() as keeper:
        assert keeper.look(held) is True
    with pytest.raises(Cancelled):
        run.guard()
    job.refresh_from_db()
    assert job.state == "running"
    assert (
        settling.end_attempt(
            job_id=job.pk,
            fence=1,
            event=EventName.RETRY,
            ground=Ground.LIVE,
            wait=timedelta(0),
            reason="",
            code="",
            ref="",
        )
        is JobState.CANCELLED
    )
    assert _names(job)[-2:] == ["cancel-requested", "cancelled"]


def test_only_who_asked_for_a_job_or_an_operator_cancels_it(tenant: Tenant, other_tenant: Tenant, make_person) -> None:
    owner, member = make_person(roles=("analyst",)), make_person(roles=("supervisor",))
    job = jobs.submit(kind="probe.idle", key="a", requested_by=owner)
    with pytest.raises(NotPermitted):
        commands.dispatch(jobs.cancel, actor=Actor.person(member), key="k", job_id=job.pk)
    outsider = make_person(roles=("analyst",), tenant=other_tenant)
    with scope.open(other_tenant), pytest.raises(Refusal) as refused:
        commands.dispatch(jobs.cancel, actor=Actor.person(outsider), key="k", job_id=job.pk)
    assert refused.value.code == "no-such-job"
    platform = Tenant.objects.get(slug="platform")
    operator = make_person(roles=("operator",), tenant=platform)
    with scope.open(platform):
        commands.dispatch(jobs.cancel, actor=Actor.person(operator), key="k", job_id=job.pk)
    job.refresh_from_db()
    assert job.state == "cancelled"


def test_an_ended_job_is_run_again_as_a_new_job_that_names_it(tenant: Tenant, make_person) -> None:
    person = make_person(roles=("analyst",))
    job = jobs.submit(kind="probe.refused", key="a", arguments={"n": 5}, requested_by=person)
    actor = Actor.person(person)
    with pytest.raises(Refusal, match="not-ended"):
        commands.dispatch(jobs.retry, actor=actor, key="k1", job_id=job.pk)
    claiming.run(job)
    outcomes = [commands.dispatch(jobs.retry, actor=actor, key=key, job_id=job.pk) for key in ("k2", "k2", "k3")]
    again = Job.objects.get(replay_of=job)
    assert {outcome.data["job"] for outcome in outcomes} == {again.pk}
    assert (again.arguments, again.state, again.requested_by) == ({"n": 5}, "queued", person)


def test_cancelling_beats_a_retry_that_waits(tenant: Tenant) -> None:
    job = _submitted("probe.flaky", times=1)
    held = claiming.claim(job)
    _sql("UPDATE job SET cancel_requested_at = clock_timestamp() WHERE id = %s", job.pk)
    assert running.work(Run(job=held.job, steps=held.steps)) is Exit.RECORDED
    job.refresh_from_db()
    assert job.state == "cancelled"
