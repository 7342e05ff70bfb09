"""Jobs: submissions a second, and no-op jobs of three steps a second against RQ's own fork worker."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

from tests.bench import measuring

ROUNDS = 3
GOAL_SUBMISSIONS = 1000.0  # a second
GOAL_SHARE = 0.85  # of the bare fork worker's rate


def run(*, rows: int, quick: bool) -> Iterator[dict[str, Any]]:
    """Measure submission, then running; the limit is the goal in each."""
    import tests.probe_jobs.definitions.probes  # noqa: F401  (registers the probes)
    from backoffice.jobs.models import Job
    from backoffice.tenants import scope
    from tests import factories

    count = 40 if quick else rows or 400
    with scope.open(factories.make_tenant()):
        yield _submitting(200 if quick else 2000)
        _forget()
        ours, peer = [], []
        for turn in range(ROUNDS + 1):
            mine = _ours(count, turn)
            bare = _seconds("tests.bench.bare_rq", str(count))
            if turn:
                ours.append(count / mine)
                peer.append(count / bare)
        assert not Job.objects.exclude(state="succeeded").exists()
        rate, bare_rate = statistics.median(ours), statistics.median(peer)
        yield measuring.result(
            case="run no-op jobs of three steps",
            rows=count,
            unit="jobs/s",
            ours=rate,
            peer=bare_rate,
            limit=bare_rate * GOAL_SHARE,
            smaller_is_better=False,
        )


def _submitting(count: int) -> dict[str, Any]:
    """Submit beside the least that a durable commit costs here, which is mostly the wait for the disk."""
    from django.db import connection

    from backoffice import jobs

    ours = peer = 0.0
    with connection.cursor() as cursor:
        for number in range(count):
            began = time.perf_counter()
            jobs.submit(kind="probe.idle", key=f"submit-{number}")
            between = time.perf_counter()
            cursor.execute("SELECT pg_logical_emit_message(true, 'bench', 'a commit')")
            ours, peer = ours + between - began, peer + time.perf_counter() - between
    return measuring.result(
        case="submit, each in its own commit, dispatched; the peer is a commit of next to nothing",
        rows=count,
        unit="jobs/s",
        ours=count / ours,
        peer=count / peer,
        limit=GOAL_SUBMISSIONS,
        smaller_is_better=False,
    )


def _ours(count: int, turn: int) -> float:
    from backoffice import jobs

    for number in range(count):
        jobs.submit(kind="probe.idle", key=f"{turn}-{number}")
    return _seconds("tests.bench.our_worker")


def _seconds(module: str, *arguments: str) -> float:
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.worker_settings"}
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments], env=environment, check=True, stdout=subprocess.PIPE, text=True
    )
    return float(done.stdout.split()[-1])


def _forget() -> None:
    """Drop what was submitted only to be submitted."""
    from django.db import connection

    from backoffice.jobs import dispatching

    with connection.cursor() as cursor:
        for table in ("job_event", "job_step", "job"):
            cursor.execute(f"DELETE FROM {table}")
    dispatching.broker().flushdb()
