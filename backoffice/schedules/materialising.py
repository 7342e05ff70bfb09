"""Turn due instants into occurrences: one transaction, under the schedules' locks, the cursor with them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from django.db import connection, transaction

from backoffice.schedules import base, misfiring, planning
from backoffice.schedules.base import ScheduledJob
from backoffice.schedules.timing import Timing
from backoffice.sql import read

_SQL = Path(__file__).parent / "sql"
BATCH = 500
# A scheduler that is stopped inside the transaction loses it, so that another can take over.
_PATIENCE = "SET LOCAL idle_in_transaction_session_timeout = '10s'; SET LOCAL lock_timeout = '5s'"


@dataclass
class Planned:
    """What one transaction writes, column by column."""

    schedules: list[int] = field(default_factory=list)
    cursors: list[datetime] = field(default_factory=list)
    nexts: list[datetime | None] = field(default_factory=list)
    enumerated: list[int] = field(default_factory=list)
    materialised: list[int] = field(default_factory=list)
    occurrences: list[tuple[int, int, datetime]] = field(default_factory=list)
    misfires: list[tuple[int, int, str, int, datetime, datetime]] = field(default_factory=list)

    def add(self, row: Row, decision: misfiring.Decision, *, count: int, now: datetime) -> None:
        """Note one schedule's outcome; its next instant follows the cursor it will have."""
        cursor = max(row.cursor, now)
        self.schedules.append(row.id)
        self.cursors.append(cursor)
        self.nexts.append(next(iter(planning.upcoming(row.timing, after=cursor, count=1)), None))
        self.enumerated.append(count)
        self.materialised.append(len(decision.run))
        self.occurrences += [(row.tenant_id, row.id, instant) for instant in decision.run]
        if decision.skipped and decision.first and decision.last:
            self.misfires.append(
                (row.tenant_id, row.id, decision.reason, decision.skipped, decision.first, decision.last)
            )


@dataclass(frozen=True)
class Row:
    """A locked schedule."""

    id: int
    tenant_id: int
    definition: str
    timing: Timing
    cursor: datetime


def materialise(*, now: datetime, limit: int = BATCH) -> int:
    """Materialise what is due at `now` for up to `limit` schedules; return how many were handled.

    `now` is the database's time, read before; a cursor that is past it stays. Several schedulers may
    do this at once: each takes schedules that no other holds.
    """
    with transaction.atomic(durable=True), connection.cursor() as cursor:
        cursor.execute(_PATIENCE)
        cursor.execute(read(_SQL / "lock_due.sql"), {"now": now, "limit": limit})
        planned = Planned()
        for id_, tenant_id, definition, timing, at in cursor.fetchall():
            job = _known(definition)
            if job is not None and timing is not None:
                plan(planned, Row(id_, tenant_id, definition, _timing(timing), at), job=job, now=now)
        write(planned)
    return len(planned.schedules)


def plan(planned: Planned, row: Row, *, job: ScheduledJob, now: datetime) -> None:
    """Enumerate (cursor, now] by the row's own timing and apply the definition's misfire policy."""
    instants = planning.due(row.timing, cursor=row.cursor, now=now)
    decision = misfiring.decide(instants, misfire=job.misfire, grace=job.grace, cap=job.cap, now=now)
    planned.add(row, decision, count=len(instants), now=now)


def write(planned: Planned) -> None:
    """Write occurrences, misfires and cursors in the caller's transaction, which holds the schedules' locks."""
    if not planned.schedules:
        return
    with connection.cursor() as cursor:
        if planned.occurrences:
            _write(cursor, "insert_occurrences.sql", ("tenants", "schedules", "instants"), planned.occurrences)
        if planned.misfires:
            names = ("tenants", "schedules", "reasons", "counts", "firsts", "lasts")
            _write(cursor, "insert_misfires.sql", names, planned.misfires)
        cursor.execute(
            read(_SQL / "advance.sql"),
            {
                "schedules": planned.schedules,
                "cursors": planned.cursors,
                "nexts": planned.nexts,
                "enumerated": planned.enumerated,
                "materialised": planned.materialised,
            },
        )


def database_now() -> datetime:
    """Read the database's clock: the only time the scheduler goes by."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now: datetime = cursor.fetchone()[0]
    return now


def next_due() -> datetime | None:
    """Return the earliest instant that any schedule waits for."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT min(next_at) FROM schedules_schedule WHERE paused_at IS NULL AND retired_at IS NULL")
        earliest: datetime | None = cursor.fetchone()[0]
    return earliest


def _write(cursor: Any, file: str, names: tuple[str, ...], rows: list[Any]) -> None:
    columns = zip(*rows, strict=True)
    cursor.execute(read(_SQL / file), {name: list(column) for name, column in zip(names, columns, strict=True)})


def _known(name: str) -> ScheduledJob | None:
    """Find the definition; another version of the product may know one that this one does not."""
    if name not in base.jobs:
        return None
    job = base.jobs.get(name)
    return job if isinstance(job, ScheduledJob) else None


def _timing(stored: Any) -> Timing:
    return Timing.from_data(json.loads(stored) if isinstance(stored, str) else stored)
