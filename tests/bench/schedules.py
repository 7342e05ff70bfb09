"""Planning, materialising and the time from due to started, beside croniter and APScheduler 3."""

from __future__ import annotations

import os
import signal
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.bench import measuring

START = datetime(2026, 1, 1, tzinfo=UTC)
WORKERS = 2  # processes on the interactive queue


def run(*, rows: int, quick: bool) -> Iterator[dict[str, Any]]:
    """Measure planning a year, materialising many, and latency with many schedules over one minute."""
    # First, while this process is small: the workers are forked from it, and fork a run a job.
    yield from latency(schedules=60 if quick else 1_000, seconds=20 if quick else 75)
    yield planning_year(days=7 if quick else 365)
    yield planning_local(days=7 if quick else 60)
    yield materialising_many(rows=rows or (500 if quick else 10_000))


def planning_year(*, days: int) -> dict[str, Any]:
    """Plan each minute in UTC; the peer is croniter."""
    from croniter import croniter

    from backoffice.schedules import planning
    from backoffice.schedules.timing import Timing

    timing, end = Timing(cron="* * * * *"), START + timedelta(days=days)

    def peer() -> None:
        at = croniter("* * * * *", START)
        while at.get_next(datetime) < end:
            pass

    taken = measuring.seconds_in_turn(
        {"ours": lambda: len(planning.due(timing, cursor=START, now=end)), "peer": peer}, rounds=1
    )
    return measuring.result(
        case="plan-minutely",
        rows=days * 1_440,
        unit="s",
        ours=taken["ours"],
        peer=taken["peer"],
        limit=None,
        smaller_is_better=True,
    )


def planning_local(*, days: int) -> dict[str, Any]:
    """Plan each minute in a zone with transitions; the peer is APScheduler's CronTrigger."""
    from apscheduler.triggers.cron import CronTrigger  # a dependency of development, as croniter is of rq

    from backoffice.schedules import planning
    from backoffice.schedules.timing import Gap, Overlap, Timing

    timing = Timing(cron="* * * * *", zone="Europe/Berlin", gap=Gap.SHIFT, overlap=Overlap.BOTH)
    start = datetime(2026, 3, 1, tzinfo=UTC)
    end = start + timedelta(days=days)
    trigger = CronTrigger.from_crontab("* * * * *", timezone="Europe/Berlin")

    def peer() -> None:
        at = trigger.get_next_fire_time(None, start)
        while at < end:
            at = trigger.get_next_fire_time(at, at + timedelta(microseconds=1))

    taken = measuring.seconds_in_turn(
        {"ours": lambda: len(planning.due(timing, cursor=start, now=end)), "peer": peer}, rounds=1
    )
    return measuring.result(
        case="plan-minutely-local",
        rows=days * 1_440,
        unit="s",
        ours=taken["ours"],
        peer=taken["peer"],
        limit=None,
        smaller_is_better=True,
    )


def materialising_many(*, rows: int) -> dict[str, Any]:
    """Materialise a backlog of one minutely schedule in one transaction: plan, insert, move the cursor."""
    from backoffice.schedules import materialising
    from backoffice.schedules.models import Occurrence
    from backoffice.tenants import scope
    from tests import factories, timetable

    tenant = factories.make_tenant(slug="bench-materialising")
    taken = []
    with scope.open(tenant), timetable.definition("bench.backlog", cap=rows):
        for _round in range(4):
            timetable.row("bench.backlog", cursor=START)
            started = time.perf_counter()
            materialising.materialise(now=START + timedelta(minutes=rows))
            taken.append(time.perf_counter() - started)
            assert Occurrence.objects.count() == rows
            Occurrence.objects.all().delete()
    return measuring.result(
        case="materialise",
        rows=rows,
        unit="s",
        ours=statistics.median(taken[1:]),
        peer=None,
        limit=None,
        smaller_is_better=True,
    )


def latency(*, schedules: int, seconds: int) -> Iterator[dict[str, Any]]:
    """Measure from due to started with a scheduler and WORKERS workers; APScheduler runs threads in memory."""
    ours, late = _ours(schedules, seconds)
    peer = _apscheduler(schedules, seconds)
    for name, share in (("p50", 0.50), ("p99", 0.99)):
        yield measuring.result(
            case=f"due-to-start-{name}",
            rows=schedules,
            unit="ms",
            ours=_share(ours, share),
            peer=_share(peer, share),
            limit=1_500.0 if name == "p99" else None,
            smaller_is_better=True,
        ) | {"started": len(ours), "not_started": late}


def _share(values: list[float], share: float) -> float:
    return sorted(values)[min(int(len(values) * share), len(values) - 1)] * 1_000


def _ours(schedules: int, seconds: int) -> tuple[list[float], int]:
    from contextlib import ExitStack

    from django.db import connections

    from backoffice import schedules as package
    from backoffice.jobs import looping, reconciling
    from backoffice.jobs.looping import Loop, Periodic
    from backoffice.jobs.worker import JobWorker
    from backoffice.schedules import base, fanning_out, materialising
    from backoffice.schedules.models import Occurrence, Schedule
    from backoffice.schedules.timing import EPOCH
    from backoffice.schedules.work import once
    from backoffice.tenants import scope
    from tests import factories, timetable

    per_second = max(schedules // 60, 1)
    for n in range(per_second):
        factories.make_tenant(slug=f"bench-{n}")
    kept = dict(base.jobs._by_name)
    with ExitStack() as stack:
        first = stack.enter_context(timetable.definition("bench.first"))
        stack.callback(base.jobs._by_name.update, {**kept, "bench.first": first})
        base.jobs._by_name.clear()  # only what is measured fires
        for n in range(60):
            options = {"name": f"bench.at-{n}", "anchor": EPOCH + timedelta(seconds=n), "selects": once}
            package.register(type("Spread", (type(first),), options))
        fanning_out.fan_out(now=materialising.database_now())
        with scope.unscoped(reason="the bench counts over all its tenants"):
            Schedule.objects.filter(tenant__slug="bench-materialising").delete()
        connections.close_all()
        children = [
            *(_child(lambda: JobWorker("interactive").run_forever()) for _ in range(WORKERS)),
            _child(
                lambda: Loop(
                    [
                        Periodic("jobs.overdue", 1.0, reconciling.end_overdue),
                        Periodic("jobs.dispatch", 1.0, reconciling.dispatch_due),
                        *looping.periodics,
                    ],
                    clock=time.monotonic,
                ).run()
            ),
        ]
        try:
            time.sleep(seconds)
        finally:
            for pid in children:
                os.kill(pid, signal.SIGTERM)
            for pid in children:
                os.waitpid(pid, 0)
    with scope.unscoped(reason="the bench counts over all its tenants"):
        rows = list(
            Occurrence.objects.filter(schedule__definition__startswith="bench.at-").values_list(
                "scheduled_at", "started_at"
            )
        )
    started = [(at_start - at).total_seconds() for at, at_start in rows if at_start is not None]
    return started, len(rows) - len(started)


def _child(work: Callable[[], None]) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(0)
    return pid


def _apscheduler(schedules: int, seconds: int) -> list[float]:
    from apscheduler.events import EVENT_JOB_EXECUTED
    from apscheduler.schedulers.background import BackgroundScheduler

    taken: list[float] = []
    scheduler = BackgroundScheduler(timezone=UTC)
    lock = threading.Lock()

    def note(due: datetime) -> None:
        with lock:
            taken.append((datetime.now(tz=UTC) - due).total_seconds())

    scheduler.add_listener(lambda event: None, EVENT_JOB_EXECUTED)
    scheduler.start()
    begin = datetime.now(tz=UTC).replace(microsecond=0) + timedelta(seconds=2)
    span = min(seconds, 60)
    for n in range(schedules):
        due = begin + timedelta(seconds=(n % 60) * span / 60)
        scheduler.add_job(note, "date", run_date=due, args=[due], misfire_grace_time=None)
    time.sleep(span + 4)
    scheduler.shutdown(wait=True)
    return taken
