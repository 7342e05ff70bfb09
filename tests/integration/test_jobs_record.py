"""The record: what may change, what never does, and what is refused, by the code and by the database."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
import redis
from django.conf import settings
from django.db import IntegrityError, OperationalError, connection, transaction
from django.db.utils import InternalError, ProgrammingError

from backoffice import jobs
from backoffice.audit.models import AuditEvent
from backoffice.jobs import continuing, reconciling, running, settling, statements
from backoffice.jobs.base import kinds
from backoffice.jobs.errors import ContinuationRefused, SettlementRefused, StaleFence, Stopping
from backoffice.jobs.models import Job, JobEvent, JobStep
from backoffice.jobs.relaying import Direct
from backoffice.jobs.running import Exit, Run
from backoffice.jobs.settling import Ground
from backoffice.jobs.states import EventName, JobState, StepState
from backoffice.tenants.models import Tenant
from tests.probe_jobs import claiming
from tests.probe_jobs.definitions import probes


def _sql(text: str, *values: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute(text, values)


def _names(job: Job) -> list[str]:
    return list(job.events.order_by("seq").values_list("name", flat=True))


def _submitted(kind: str = "probe.idle", **arguments: int | str) -> Job:
    return jobs.submit(kind=kind, key="a", arguments=arguments)


def _expire(job: Job) -> None:
    _sql("UPDATE job SET lease_until = clock_timestamp() - interval '1 second' WHERE id = %s", job.pk)


def test_a_run_leaves_the_whole_history(tenant: Tenant) -> None:
    job = _submitted("probe.steps")
    assert claiming.run(job) is Exit.RECORDED
    job.refresh_from_db()
    assert (job.state, job.progress, job.attempt, job.fence) == ("succeeded", 100, 1, 1)
    assert _names(job) == ["submitted", "claimed", *["step-started", "step-succeeded"] * 3, "succeeded"]
    assert list(job.events.order_by("seq").values_list("seq", flat=True)) == list(range(1, 10))
    assert AuditEvent.objects.filter(act="probe.mark").count() == 3


@pytest.mark.proves("record#04", "jobs#prevent-duplicate-completion")
def test_a_second_settlement_is_refused(tenant: Tenant) -> None:
    job = _submitted()
    claiming.run(job)
    for state in (JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED):
        for ground in Ground:
            with pytest.raises(SettlementRefused):
                settling.settle(job_id=job.pk, fence=1, state=state, ground=ground)
    job.refresh_from_db()
    assert job.state == "succeeded"
    assert _names(job).count("succeeded") == 1


@pytest.mark.proves("record#04", "record#edge-01")
def test_a_late_report_on_a_settled_job_is_logged_and_leaves_no_history(
    tenant: Tenant, caplog: pytest.LogCaptureFixture
) -> None:
    job = _submitted()
    claiming.run(job)
    before = (Job.objects.values().get(), list(JobStep.objects.values()), list(JobEvent.objects.values()))
    with caplog.at_level(logging.INFO):
        for state in (StepState.RUNNING, StepState.FAILED, StepState.SUCCEEDED):
            assert running.report_step(job_id=job.pk, fence=1, step="two", state=state) is None
    assert caplog.text.count("job.report-discarded") == 3
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert before == (Job.objects.values().get(), list(JobStep.objects.values()), list(JobEvent.objects.values()))


@pytest.mark.proves("record#04", "record#05")
@pytest.mark.parametrize(
    "change",
    [
        "state = 'queued', settled_at = NULL",
        "state = 'failed'",
        "safe_reason = 'another'",
        "progress = 100, fence = fence + 1",
        "settled_at = clock_timestamp()",
    ],
)
def test_the_database_refuses_any_change_of_a_final_job(tenant: Tenant, change: str) -> None:
    job = _submitted()
    claiming.run(job)
    with pytest.raises(IntegrityError, match="has ended and never changes"):
        _sql(f"UPDATE job SET {change} WHERE id = %s", job.pk)
    with pytest.raises(IntegrityError, match="has ended and never changes"):
        _sql("UPDATE job_step SET state = 'running', settled_at = NULL WHERE job_id = %s", job.pk)


@pytest.mark.proves("record#05")
@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ("progress = 20", "never falls"),
        ("fence = 0", "never fall"),
        ("event_no = 1", "never fall"),
        ("progress = 101", "job_progress_is_a_percentage"),
        ("settled_at = clock_timestamp()", "job_settled_exactly_when_final"),
        ("state = 'failed'", "job_settled_exactly_when_final"),
        ("state = 'paused'", "job_known_state"),
        ("lease_until = NULL", "job_running_under_a_lease"),
        ("submission_key = 'b'", "identity"),
        ("tenant_id = 1", "identity"),
    ],
)
def test_the_database_refuses_what_no_job_may_become(tenant: Tenant, change: str, rule: str) -> None:
    job = _submitted()
    held = claiming.claim(job)
    run = Run(job=held.job, steps=held.steps)
    with run.step("one"):
        pass
    with pytest.raises(IntegrityError, match=rule):
        _sql(f"UPDATE job SET {change} WHERE id = %s", job.pk)


def test_the_database_refuses_success_without_a_run_and_a_run_without_a_new_fence(tenant: Tenant) -> None:
    job = _submitted()
    with pytest.raises(IntegrityError, match="cannot succeed without running"):
        _sql("UPDATE job SET state = 'succeeded', settled_at = clock_timestamp() WHERE id = %s", job.pk)
    with pytest.raises(IntegrityError, match="under a new fence only"):
        _sql("UPDATE job SET state = 'running', lease_until = clock_timestamp() WHERE id = %s", job.pk)


@pytest.mark.proves("record#05")
def test_the_database_refuses_falling_progress_of_a_step(tenant: Tenant) -> None:
    job = _submitted()
    held = claiming.claim(job)
    run = Run(job=held.job, steps=held.steps)
    with run.step("one"):
        run.report(30, 100)
        with pytest.raises(IntegrityError, match="never falls"):
            _sql("UPDATE job_step SET progress = 29 WHERE job_id = %s AND name = 'one'", job.pk)


def test_events_are_only_added(tenant: Tenant) -> None:
    job = _submitted()
    with pytest.raises((ProgrammingError, InternalError, IntegrityError)):
        _sql("UPDATE job_event SET name = 'failed' WHERE job_id = %s", job.pk)
    with pytest.raises(IntegrityError, match="job_event_one_per_seq"):
        _sql(
            "INSERT INTO job_event (tenant_id, job_id, seq, name, data) SELECT tenant_id, job_id, seq, name, data"
            " FROM job_event WHERE job_id = %s",
            job.pk,
        )


@pytest.mark.proves("record#11")
def test_progress_is_the_rounded_share_of_settled_steps(tenant: Tenant) -> None:
    job = _submitted()
    held = claiming.claim(job)
    run = Run(job=held.job, steps=held.steps)
    seen = []
    for step in ("one", "two", "three"):
        with run.step(step):
            job.refresh_from_db()
            seen.append(job.progress)
    job.refresh_from_db()
    assert [*seen, job.progress] == [0, 33, 67, 100]


@pytest.mark.proves("record#11")
def test_declared_weights_use_the_highest_settled_weight(tenant: Tenant) -> None:
    job = _submitted("probe.weighted")
    held = claiming.claim(job)
    run = Run(job=held.job, steps=held.steps)
    seen = []
    for step in ("two", "one", "three"):
        with run.step(step):
            pass
        job.refresh_from_db()
        seen.append(job.progress)
    assert seen == [85, 85, 100]


@pytest.mark.proves("record#06")
def test_a_refusal_ends_the_job_with_its_words(tenant: Tenant) -> None:
    job = _submitted("probe.refused")
    assert claiming.run(job) is Exit.RECORDED
    job.refresh_from_db()
    assert (job.state, job.code, job.attempt) == ("failed", "no-such-account", 1)
    assert job.safe_reason == "The account is closed.\N{REPLACEMENT CHARACTER}"
    assert list(job.steps.values_list("state", flat=True)) == ["failed", "skipped", "skipped"]
    assert job.events.last().data == {"reason": job.safe_reason, "code": "no-such-account"}


@pytest.mark.proves("record#06", "record#scenario-02", "jobs#bound-job-retries")
@pytest.mark.parametrize("size", [10, 10_000_000])
def test_a_transient_failure_is_retried_and_none_of_its_detail_leaves_the_log(
    tenant: Tenant, caplog: pytest.LogCaptureFixture, size: int
) -> None:
    job = _submitted("probe.flaky", times=9, size=size)
    for attempt in (1, 2, 3):
        _sql("UPDATE job SET available_at = clock_timestamp() WHERE id = %s", job.pk)
        assert claiming.run(job) is Exit.RECORDED
        job.refresh_from_db()
        assert job.attempt == attempt
        assert job.state == ("queued" if attempt < 3 else "failed")
        if attempt < 3:
            assert job.available_at > job.created_at + timedelta(milliseconds=150)
    assert job.code == "unexpected"
    references = [e.data["reference"] for e in job.events.filter(name=EventName.RETRY)]
    assert len(references) == 2
    assert all(reference in caplog.text for reference in references)
    assert probes.CANARY in caplog.text
    assert "\x00" not in caplog.text and "\udc80" not in caplog.text
    assert len(caplog.text) < 400_000
    everything = repr([list(Job.objects.values()), list(JobStep.objects.values()), list(JobEvent.objects.values())])
    broker = redis.Redis.from_url(settings.REDIS_URL)
    everything += repr([broker.dump(key) for key in broker.keys("*")])
    for secret in (probes.CANARY, "Headers", "Authorization", "xxxx", "raise ", "Traceback"):
        assert secret not in everything
    assert AuditEvent.objects.filter(act="probe.mark").count() == 1  # the finished step did not run again


def test_only_the_current_fence_reports_and_settles(tenant: Tenant) -> None:
    job = _submitted()
    old = claiming.claim(job, owner="one")
    _expire(job)
    with claiming.keeper("one") as keeper:
        assert keeper.renew(old) is None
    assert reconciling.end_overdue() == 1
    new = claiming.claim(job, owner="two")
    assert new.job.fence == old.job.fence + 1
    stale = Run(job=old.job, steps=old.steps)
    with pytest.raises(StaleFence):
        stale.guard()
    with pytest.raises(StaleFence), stale.step("one"):
        raise AssertionError("a stale run starts no step")
    with pytest.raises(SettlementRefused):
        settling.settle(job_id=job.pk, fence=old.job.fence, state=JobState.SUCCEEDED, ground=Ground.KEEPER)
    with claiming.keeper("two") as keeper:
        assert keeper.renew(new) is False
    with claiming.keeper("somebody else") as keeper:
        assert keeper.renew(new) is None


def test_a_run_whose_lease_lapsed_can_do_nothing_even_before_it_is_reaped(tenant: Tenant) -> None:
    job = _submitted()
    held = claiming.claim(job)
    run = Run(job=held.job, steps=held.steps)
    with run.step("one"):
        _expire(job)
        with pytest.raises(StaleFence):
            run.guard()
        with pytest.raises(StaleFence):
            probes.leave_mark(run, "late")
        with pytest.raises(StaleFence):
            run.report(1, 1)
        _sql("UPDATE job SET lease_until = clock_timestamp() + interval '9 seconds' WHERE id = %s", job.pk)
    _expire(job)
    with pytest.raises(SettlementRefused):
        settling.settle(job_id=job.pk, fence=1, state=JobState.SUCCEEDED, ground=Ground.LIVE)
    assert not AuditEvent.objects.filter(act="probe.mark", outcome="done").exists()


def test_a_lost_worker_costs_an_attempt_and_the_last_one_fails_the_job(tenant: Tenant) -> None:
    job = _submitted()
    for attempt in (1, 2, 3):
        claiming.claim(job)
        assert reconciling.end_overdue() == 0  # a live lease is left alone
        _expire(job)
        assert reconciling.end_overdue() == 1
        job.refresh_from_db()
        assert job.attempt == attempt
    assert (job.state, job.code, job.fence) == ("failed", "lost", 3)
    assert _names(job) == ["submitted", *["claimed", "lost"] * 2, "claimed", "failed"]


def test_a_job_past_its_deadline_is_ended_by_the_reconciler(tenant: Tenant) -> None:
    job = _submitted()
    claiming.claim(job)
    _sql("UPDATE job SET deadline = clock_timestamp() - interval '1 minute' WHERE id = %s", job.pk)
    assert reconciling.end_overdue() == 1
    job.refresh_from_db()
    assert (job.state, job.code) == ("failed", "deadline")


@pytest.mark.proves("record#12")
def test_a_continuation_records_handle_and_history_once_and_refuses_another_source(tenant: Tenant) -> None:
    job = _submitted()
    held = claiming.claim(job)
    source, successor = f"{job.pk}/1", f"{job.pk}/2"
    assert held.job.execution == source
    for wrong in ({"source": f"{job.pk}/7"}, {"successor": f"{job.pk}/9"}, {"source": "8/1"}):
        with pytest.raises(ContinuationRefused):
            continuing.hand_over(job_id=job.pk, fence=1, **{"source": source, "successor": successor, **wrong})
    for _turn in range(3):
        continuing.hand_over(job_id=job.pk, fence=1, source=source, successor=successor)
    job.refresh_from_db()
    assert (job.state, job.execution, job.successor, job.attempt) == ("queued", source, successor, 0)
    moves = list(job.events.filter(name="continued").values_list("data", flat=True))
    assert moves == [{"source": source, "successor": successor}]
    next_one = claiming.claim(job)
    assert (next_one.job.execution, next_one.job.successor, next_one.job.attempt) == (successor, "", 1)
    assert continuing.lineage(job) == [source, successor]
    continuing.hand_over(job_id=job.pk, fence=1, source=source, successor=successor)  # a replay, late
    with pytest.raises(ContinuationRefused):
        continuing.hand_over(job_id=job.pk, fence=3, source=f"{job.pk}/3", successor=f"{job.pk}/4")
    assert job.events.filter(name="continued").count() == 1


def test_a_worker_that_shuts_down_stops_the_run_between_two_steps(tenant: Tenant) -> None:
    job = _submitted()
    held = claiming.claim(job)
    asked = False
    run = Run(job=held.job, steps=held.steps, asked_to_stop=lambda: asked)
    with run.step("one"):
        asked = True
    with pytest.raises(Stopping), run.step("two"):
        raise AssertionError("no step starts any more")


def test_a_step_that_ended_is_skipped_by_the_next_attempt(tenant: Tenant) -> None:
    job = _submitted()
    held = claiming.claim(job)
    with Run(job=held.job, steps=held.steps).step("one") as todo:
        assert todo
    _expire(job)
    reconciling.end_overdue()
    again = claiming.claim(job)
    with Run(job=again.job, steps=again.steps).step("one") as todo:
        assert not todo


@pytest.mark.proves("record#09")
def test_each_kind_states_what_its_failure_means() -> None:
    assert [message for kind in kinds for message in kind.check()] == []
    assert {kind.name for kind in kinds} >= {"system.ping", "probe.gated"}


def test_a_report_inside_a_transaction_is_refused(tenant: Tenant) -> None:
    job = _submitted()
    held = claiming.claim(job)
    with (
        transaction.atomic(),
        pytest.raises(ValueError, match="outside transactions"),
        Run(job=held.job, steps=held.steps).step("one"),
    ):
        pass


@pytest.mark.proves("record#04")
def test_an_end_whose_answer_was_lost_counts_as_recorded(tenant: Tenant) -> None:
    job = _submitted()
    held = claiming.claim(job)
    lost: list[str] = []

    class Lossy(Direct):
        """Lose the answer to the settlement once, as a server does that restarts."""

        def execute(self, name: str, values: Mapping[str, Any]) -> statements.Rows:
            rows = super().execute(name, values)
            if name == "settle" and not lost:
                lost.append(name)
                raise OperationalError("the connection is gone")
            return rows

    assert running.work(Run(job=held.job, steps=held.steps, wire=Lossy())) is Exit.RECORDED
    job.refresh_from_db()
    assert (job.state, lost, _names(job).count("succeeded")) == ("succeeded", ["settle"], 1)


def test_the_hot_questions_use_small_indices(tenant: Tenant) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET enable_seqscan = off")
        for name, index in (("any_due", "job_to_dispatch"), ("overdue", "job_running")):
            cursor.execute(f"EXPLAIN {statements.text(name)}", {"limit": 10})
            assert index in str(cursor.fetchall())
        cursor.execute("SET enable_seqscan = on")
