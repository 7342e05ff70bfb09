"""An unreachable store costs time: nothing is missed, nothing is parked, and the log stays quiet."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import redis
from django.db import connections
from structlog.testing import capture_logs

from backoffice.jobs import dispatching, reconciling
from backoffice.jobs.looping import Loop, Periodic
from backoffice.jobs.models import Job
from backoffice.schedules import StillGoing, fanning_out, materialising, tending
from backoffice.schedules.models import Occurrence, Schedule
from backoffice.schedules.timing import Timing
from backoffice.tenants import scope
from backoffice.tenants.models import PLATFORM_ID, Tenant
from tests.timetable import definition, job_of, row, run_job

ROOT = Path(__file__).resolve().parents[2]
SECOND = timedelta(seconds=1)


class Clock:
    """A monotonic clock that a test moves."""

    at = 0.0

    def __call__(self) -> float:
        return self.at


@pytest.mark.proves("jobs#treat-unavailable-schedule-stores-as-outages", "jobs#define-misfire-recovery")
def test_minutes_without_the_database_are_backed_off_and_nothing_is_missed(tenant: Tenant) -> None:
    with definition(every=SECOND, still_going=StillGoing.QUEUE, cap=100_000):
        schedule = row(cursor=materialising.database_now())
        clock = Clock()
        calls = 0

        def tend() -> int:
            nonlocal calls
            calls += 1
            return tending.tend()

        loop = Loop([Periodic("schedules", 0.25, tend)], clock=clock)
        connections.close_all()
        settings = connections["default"].settings_dict
        port, settings["PORT"] = settings["PORT"], "1"
        with capture_logs() as logs:
            try:
                for _turn in range(2_400):  # ten minutes of quarter seconds
                    loop.turn()
                    clock.at += 0.25
            finally:
                settings["PORT"] = port
                connections.close_all()
        assert 20 < calls < 60  # backed off to half a minute
        assert [one["event"] for one in logs] == ["scheduler.failing"] * len(logs) and 0 < len(logs) <= 21
        ago = materialising.database_now() - timedelta(minutes=10)
        Schedule.objects.filter(pk=schedule.pk).update(cursor=ago, next_at=ago + SECOND)
        clock.at += 60
        loop.turn()
        schedule.refresh_from_db()
        assert schedule.enumerated >= 600 and schedule.enumerated == schedule.materialised == Occurrence.objects.count()
        assert not Occurrence.objects.exclude(state="scheduled").exists()
        assert not loop.stopping.is_set() and loop.periodics[0].failures == 0


@pytest.mark.proves("jobs#treat-unavailable-schedule-stores-as-outages")
def test_minutes_without_the_broker_leave_jobs_waiting_and_nothing_parked(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    with definition():
        row(cursor=materialising.database_now() - timedelta(minutes=2))
        broker = dispatching.broker
        away = redis.Redis(port=1, socket_connect_timeout=0.2)
        monkeypatch.setattr(dispatching, "broker", lambda: away)
        tending.tend()
        occurrences = list(Occurrence.objects.all())
        assert len(occurrences) >= 2 and all((o.state, o.live) == ("scheduled", True) for o in occurrences)
        Job.objects.update(dispatch_at=materialising.database_now())
        with pytest.raises(redis.RedisError):
            reconciling.reconcile()
        assert set(Job.objects.values_list("state", "attempt")) == {("queued", 0)}
        monkeypatch.setattr(dispatching, "broker", broker)
        Job.objects.update(dispatch_at=materialising.database_now(), dispatched_at=None)
        assert reconciling.reconcile() >= 2
        for occurrence in occurrences:
            run_job(job_of(occurrence))
        assert set(Occurrence.objects.values_list("state", "attempts")) == {("completed", 1)}


def _until(true: Callable[[], Any], *, within: float = 25.0) -> None:
    until = time.monotonic() + within
    while not true():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.1)


@pytest.mark.proves("jobs#prevent-duplicate-completion", "jobs#stop-jobs-during-graceful-shutdown")
def test_of_two_schedulers_one_may_be_stopped_and_wake_again_and_each_instant_still_runs_once(
    tenant: Tenant, tmp_path: Path
) -> None:
    """Real processes and the product's sweep of holds, each second: a scheduler is frozen over due instants."""
    processes: list[subprocess.Popen[bytes]] = []

    def start(*arguments: str) -> Path:
        log = tmp_path / f"{len(processes)}.log"
        with log.open("wb") as file:
            command = [sys.executable, "manage.py", *arguments]
            processes.append(subprocess.Popen(command, cwd=ROOT, env=os.environ, stdout=file, stderr=file))
        return log

    with scope.open(Tenant.objects.get(pk=PLATFORM_ID)):
        fanning_out.fan_out(now=materialising.database_now())
        Schedule.objects.exclude(definition="queues.sweep-claims").update(paused_at=materialising.database_now())
        schedule = Schedule.objects.get(definition="queues.sweep-claims")

        def completed() -> int:
            return Occurrence.objects.filter(state="completed").count()

        try:
            logs = [start("scheduler"), start("scheduler"), start("worker", "interactive")]
            _until(lambda: all("started" in log.read_text() for log in logs))
            time.sleep(1.0)  # past their first look at the definitions
            first = materialising.database_now().replace(microsecond=0)
            each_second = Timing(every=SECOND).as_data()
            Schedule.objects.filter(pk=schedule.pk).update(
                timing=each_second, cursor=first, next_at=first, enumerated=0, materialised=0, skipped=0
            )
            _until(lambda: completed() >= 2)
            processes[0].send_signal(signal.SIGSTOP)
            before = completed()
            _until(lambda: completed() >= before + 2)
            processes[0].send_signal(signal.SIGCONT)
            _until(lambda: completed() >= before + 4)
            for process in processes:
                process.send_signal(signal.SIGTERM)
            assert [process.wait(timeout=20) for process in processes] == [0, 0, 0]
        finally:
            for process in processes:
                process.send_signal(signal.SIGCONT)
                process.kill()
                process.wait()
        schedule.refresh_from_db()
        passed = int((schedule.cursor - first).total_seconds())
        assert schedule.enumerated == schedule.materialised + schedule.skipped == passed  # none missed, none doubled
        run = Occurrence.objects.exclude(state="skipped").filter(scheduled_at__gt=first).values_list("pk", flat=True)
        jobs = Job.objects.filter(occurrence__in=run).values_list("occurrence", "attempt")
        assert sorted(jobs) == sorted((pk, 1) for pk in run if pk in {occurrence for occurrence, _attempt in jobs})
        assert (
            len({occurrence for occurrence, _attempt in jobs}) == len(jobs) >= 5
        )  # six ended; one may be of the minute before
