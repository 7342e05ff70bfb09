"""Real workers and schedulers, killed, stopped and asked to end: the job goes on, once."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from django.db import connection

from backoffice import commands, jobs
from backoffice.audit.models import AuditEvent
from backoffice.commands import Actor
from backoffice.jobs import dispatching, reconciling
from backoffice.jobs.models import Job
from backoffice.tenants.models import Tenant
from tests.probe_jobs import processes
from tests.probe_jobs.definitions import probes  # noqa: F401  (registers the probes)


@pytest.fixture
def worker(tenant: Tenant, tmp_path: Path) -> Iterator[Callable[..., object]]:
    """Start workers of the interactive queue, and end them with the test."""
    started = []

    def start(*options: str) -> object:
        process = processes.start("worker", "interactive", *options, log=tmp_path / "worker.log")
        started.append(process)
        return process

    yield start
    for process in started:
        processes.stop(process)
    print((tmp_path / "worker.log").read_text() if started else "")


@pytest.fixture
def gated(tenant: Tenant, tmp_path: Path) -> Job:
    """Submit a job that waits in its second step."""
    return jobs.submit(kind="probe.gated", key="a", arguments={"folder": str(tmp_path)})


def _horse(tmp_path: Path, fence: int = 1) -> int:
    """Wait until the job's run of this fence is in its second step; return its process."""
    entered = tmp_path / f"entered-{fence}"
    processes.wait_until(entered.exists, within=40, what=f"run {fence} entered step two")
    return int(entered.read_text())


def _reconcile_until(true: Callable[[], object], *, within: float = 40) -> None:
    def turn() -> object:
        reconciling.reconcile()
        return true()

    processes.wait_until(turn, within=within)


def _ended(job: Job) -> bool:
    job.refresh_from_db()
    return job.is_final


def _names(job: Job) -> list[str]:
    return list(job.events.order_by("seq").values_list("name", flat=True))


def _effects(job: Job) -> list[str]:
    done = AuditEvent.objects.filter(act="probe.mark", outcome="done").order_by("id")
    return [one.target.rsplit(":", 1)[1] for one in done if one.target.startswith(f"probe:{job.pk}:")]


def _fences(job: Job) -> list[int]:
    return list(job.events.filter(name="claimed").order_by("seq").values_list("fence", flat=True))


@pytest.mark.case("JE-02")
@pytest.mark.proves("jobs#tolerate-duplicate-execution")
def test_killing_the_parent_leaves_no_orphan_and_the_job_runs_again(worker, gated: Job, tmp_path: Path) -> None:
    parent = worker()
    horse = _horse(tmp_path)
    assert processes.children(parent.pid) == [horse]
    parent.kill()
    processes.wait_until(lambda: not processes.is_alive(horse), within=3, what="the work-horse dies with its parent")
    worker()
    (tmp_path / "go").touch()
    _reconcile_until(lambda: _ended(gated))
    assert (gated.state, gated.attempt, _fences(gated)) == ("succeeded", 2, [1, 2])
    assert _effects(gated) == ["one", "two", "three"]
    assert "lost" in _names(gated)


def test_killing_the_work_horse_gives_the_job_back_at_once(worker, gated: Job, tmp_path: Path) -> None:
    worker()
    horse = _horse(tmp_path)
    os.kill(horse, signal.SIGKILL)
    processes.wait_until(lambda: "lost" in _names(gated), within=2.5)  # sooner than its lease
    (tmp_path / "go").touch()
    _reconcile_until(lambda: _ended(gated))
    assert (gated.state, _fences(gated), _effects(gated)) == ("succeeded", [1, 2], ["one", "two", "three"])


@pytest.mark.proves("jobs#restrict-completion-by-fencing-value")
def test_a_worker_stopped_past_its_lease_changes_nothing_when_it_comes_back(worker, gated: Job, tmp_path: Path) -> None:
    parent = worker()
    horse = _horse(tmp_path)
    for pid in (parent.pid, horse):
        os.kill(pid, signal.SIGSTOP)
    worker()
    _reconcile_until(lambda: (tmp_path / "entered-2").exists())
    (tmp_path / "go").touch()
    for pid in (horse, parent.pid):
        os.kill(pid, signal.SIGCONT)
    _reconcile_until(lambda: _ended(gated))
    processes.wait_until(lambda: not processes.is_alive(horse), within=5)
    assert (gated.state, gated.fence, _effects(gated)) == ("succeeded", 2, ["one", "two", "three"])
    assert parent.poll() is None  # it lost one run, not its mind


@pytest.mark.proves("jobs#stop-jobs-during-graceful-shutdown")
def test_sigterm_lets_the_running_job_finish_its_step(worker, gated: Job, tmp_path: Path) -> None:
    parent = worker()
    _horse(tmp_path)
    waiting = jobs.submit(kind="probe.idle", key="later")
    parent.terminate()
    processes.wait_until(lambda: not _ended(waiting), within=1)
    (tmp_path / "go").touch()
    assert parent.wait(10) == 0
    gated.refresh_from_db()
    waiting.refresh_from_db()
    assert (gated.state, gated.attempt, gated.successor) == ("queued", 0, f"{gated.pk}/2")
    assert _effects(gated) == ["one", "two"]
    assert (waiting.state, waiting.attempt) == ("queued", 0)
    worker("--burst")
    _reconcile_until(lambda: _ended(gated) and _ended(waiting))
    assert (gated.state, gated.execution, _effects(gated)) == ("succeeded", f"{gated.pk}/2", ["one", "two", "three"])


@pytest.mark.case("JE-03")
@pytest.mark.parametrize("whole_tree", [False, True])
def test_sigterm_hands_over_what_does_not_finish_in_time(worker, gated: Job, tmp_path: Path, whole_tree: bool) -> None:
    parent = worker("--stop-within", "1")
    horse = _horse(tmp_path)
    for pid in (horse, parent.pid) if whole_tree else (parent.pid,):
        os.kill(pid, signal.SIGTERM)
    if whole_tree:
        os.killpg(parent.pid, signal.SIGTERM)
    assert parent.wait(10) == 0
    assert not processes.is_alive(horse)
    gated.refresh_from_db()
    assert (gated.state, gated.attempt, gated.successor) == ("queued", 0, f"{gated.pk}/2")
    (tmp_path / "go").touch()
    worker()
    _reconcile_until(lambda: _ended(gated))
    assert (gated.state, _effects(gated)) == ("succeeded", ["one", "two", "three"])


@pytest.mark.proves("jobs#bound-job-duration")
def test_a_handler_that_swallows_everything_is_stopped_at_its_deadline(worker, tenant: Tenant) -> None:
    job = jobs.submit(kind="probe.stubborn", key="a")
    parent = worker()
    processes.wait_until(lambda: _names(job)[-1:] == ["step-started"], within=40)
    horse = processes.children(parent.pid)[0]
    processes.wait_until(lambda: _ended(job), within=6)
    assert (job.state, job.code, job.attempt) == ("failed", "deadline", 1)
    assert not processes.is_alive(horse)


@pytest.mark.proves("jobs#observe-job-cancellation")
def test_cancelling_ends_a_deaf_run_and_its_query_on_the_server(
    worker, tenant: Tenant, make_person: Callable, superuser: psycopg.Connection
) -> None:
    person = make_person(roles=("analyst",))
    job = jobs.submit(kind="probe.long-query", key="a", requested_by=person)
    polite = jobs.submit(kind="probe.polite", key="b", requested_by=person)
    worker()
    processes.wait_until(lambda: _queries(superuser), within=40)
    commands.dispatch(jobs.cancel, actor=Actor.person(person), key="k", job_id=job.pk)
    processes.wait_until(lambda: _ended(job), within=6)
    assert job.state == "cancelled"
    processes.wait_until(lambda: not _queries(superuser), within=3)
    processes.wait_until(lambda: polite.steps.filter(done__gt=10).exists(), within=10)
    commands.dispatch(jobs.cancel, actor=Actor.person(person), key="k2", job_id=polite.pk)
    processes.wait_until(lambda: _ended(polite), within=3)
    assert (polite.state, polite.attempt) == ("cancelled", 1)


def _queries(superuser: psycopg.Connection) -> int:
    found = superuser.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(600)' AND state = 'active'"
    )
    return found.fetchone()[0]


def test_a_query_does_not_outlive_a_worker_that_is_killed(
    worker, tenant: Tenant, superuser: psycopg.Connection
) -> None:
    jobs.submit(kind="probe.long-query", key="a")
    parent = worker()
    processes.wait_until(lambda: _queries(superuser), within=40)
    parent.kill()
    processes.wait_until(lambda: not _queries(superuser), within=5)


def test_a_run_that_ends_its_own_process_is_tried_again_a_bounded_number_of_times(worker, tenant: Tenant) -> None:
    twice = jobs.submit(kind="probe.suicidal", key="a", arguments={"times": 2})
    always = jobs.submit(kind="probe.suicidal", key="b", arguments={"times": 99})
    worker()
    _reconcile_until(lambda: _ended(twice) and _ended(always))
    assert (twice.state, twice.attempt) == ("succeeded", 3)
    assert (always.state, always.attempt, always.code) == ("failed", 3, "lost")


def test_the_same_message_a_hundred_times_runs_the_job_once(worker, tenant: Tenant) -> None:
    job = jobs.submit(kind="probe.steps", key="a")
    dispatching.push([dispatching.Dispatch(job.pk, 1, "interactive")] * 99)
    process = worker("--burst")
    assert process.wait(60) == 0
    assert _ended(job)
    assert (job.attempt, job.fence, _effects(job)) == (1, 1, ["one", "two", "three"])
    assert dispatching.broker().keys("rq:job:*") == []
    left = dispatching.broker().lrange("rq:queue:interactive:intermediate", 0, -1)
    assert set(left) <= {f"{job.pk}-1".encode()}  # repetitions whose message is gone; a worker throws them away


def test_a_crash_between_pop_and_claim_loses_nothing(worker, tenant: Tenant) -> None:
    job = jobs.submit(kind="probe.idle", key="a")
    broker = dispatching.broker()
    assert broker.lmove("rq:queue:interactive", "rq:queue:interactive:intermediate")
    with connection.cursor() as cursor:  # as if the time for a second look had come
        cursor.execute("UPDATE job SET dispatch_at = clock_timestamp() WHERE id = %s", [job.pk])
    worker()
    _reconcile_until(lambda: _ended(job))
    assert (job.state, job.dispatch_no, job.attempt) == ("succeeded", 2, 1)


def test_the_scheduler_starts_what_was_left_and_ends_on_sigterm(worker, tenant: Tenant, tmp_path: Path) -> None:
    job = jobs.submit(kind="probe.flaky", key="a", arguments={"times": 2})
    dispatching.broker().flushdb()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE job SET dispatch_at = clock_timestamp() WHERE id = %s", [job.pk])
    worker()
    log = tmp_path / "scheduler.log"
    with processes.running("scheduler", log=log) as one, processes.running("scheduler", log=log) as two:
        processes.wait_until(lambda: _ended(job), within=60)
        for process in (one, two):
            process.terminate()
            assert process.wait(5) == 0
    assert (job.state, job.attempt) == ("succeeded", 3)
    assert _names(job).count("retry") == 2


def test_an_idle_worker_ends_at_once_on_sigterm(worker, tenant: Tenant) -> None:
    job = jobs.submit(kind="system.ping", key="a")
    process = worker()
    processes.wait_until(lambda: _ended(job), within=40)
    process.terminate()
    assert process.wait(3) == 0
