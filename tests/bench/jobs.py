"""Jobs: submissions a second, and no-op jobs of three steps a second beside others that run no-op jobs.

Beside RQ's own fork worker, which isolates each job as ours does; beside procrastinate, which keeps its
jobs in PostgreSQL as we do and runs them in its own process; and beside the least that a durable job can
cost: one claim and one fenced settlement of a bare row.
"""

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
        _make_room_for_procrastinate()
        contenders = {
            "ours": _ours,
            "rq": lambda count, _turn: _seconds("tests.bench.bare_rq", str(count)),
            "procrastinate": lambda count, _turn: _seconds("tests.bench.procrastinate_worker", str(count)),
            "raw": _raw,
        }
        rates: dict[str, list[float]] = {name: [] for name in contenders}
        for turn in range(ROUNDS + 1):
            for name, seconds in contenders.items():
                took = seconds(count, turn)
                if turn:
                    rates[name].append(count / took)
        assert not Job.objects.exclude(state="succeeded").exists()
        median = {name: statistics.median(one) for name, one in rates.items()}
        cases = (
            ("the peer is RQ's fork worker, the limit the goal", "rq", median["rq"] * GOAL_SHARE),
            ("the peer is procrastinate, without a process a job; the limit claims and settles bare rows",
             "procrastinate", median["raw"]),
        )  # fmt: skip
        for case, peer, limit in cases:
            yield measuring.result(
                case=f"run no-op jobs of three steps; {case}",
                rows=count,
                unit="jobs/s",
                ours=median["ours"],
                peer=median[peer],
                limit=limit,
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


def _make_room_for_procrastinate() -> None:
    """Give procrastinate a database of its own on the same server, and name it to its process."""
    import psycopg
    from procrastinate.schema import SchemaManager

    superuser = os.environ["DATABASE_SUPERUSER_URL"]
    with psycopg.connect(superuser, autocommit=True) as connection:
        connection.execute("CREATE DATABASE procrastinate")
    os.environ["PROCRASTINATE_URL"] = superuser.rsplit("/", 1)[0] + "/procrastinate"
    with psycopg.connect(os.environ["PROCRASTINATE_URL"], autocommit=True) as connection:
        connection.execute(SchemaManager.get_schema())


def _raw(count: int, turn: int) -> float:
    """Claim and settle bare rows, each in a commit of its own."""
    import psycopg

    with psycopg.connect(os.environ["PROCRASTINATE_URL"], autocommit=True, prepare_threshold=0) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS bare (id bigint PRIMARY KEY, state text, fence bigint)")
        connection.execute("TRUNCATE bare")
        connection.execute("INSERT INTO bare SELECT n, 'queued', 0 FROM generate_series(1, %s) AS n", [count])
        began = time.monotonic()
        for number in range(1, count + 1):
            claimed = connection.execute(
                "UPDATE bare SET state = 'running', fence = fence + 1"
                " WHERE id = %s AND state = 'queued' RETURNING fence",
                [number],
            ).fetchone()
            assert claimed is not None
            connection.execute(
                "UPDATE bare SET state = 'succeeded' WHERE id = %s AND fence = %s AND state = 'running'",
                [number, claimed[0]],
            )
        return time.monotonic() - began


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
