"""The worker's parent and its lease: one connection of its own, on which it claims, renews and ends runs.

A lease is trusted until its length, less a margin, has passed since before it was asked for, by a
clock of this machine that no one sets and that counts suspended time. Past that the run is dead to
us, whatever the database may still say.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import psycopg
import structlog
from django.db import connections
from psycopg.rows import dict_row, tuple_row

from backoffice.jobs import statements
from backoffice.jobs.models import Job
from backoffice.tenants.models import Tenant

log = structlog.get_logger(__name__)

MARGIN_SHARE = 0.1
LONGEST_MARGIN = 5.0
STATEMENT_TIMEOUT = "5s"  # the parent watches a process: it never waits long for an answer
_REACHING = {"dbname", "user", "password", "host", "port", "connect_timeout"}
_COLUMNS = [field.attname for field in Job._meta.concrete_fields]
_NAMES = [str(field.column) for field in Job._meta.concrete_fields]


def monotonic() -> float:
    """Read the clock that leases are trusted by."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@dataclass
class Held:
    """A claimed job, the states of its steps, and how long its lease may be trusted."""

    job: Job
    steps: Mapping[str, str]
    asked_at: float
    trusted_until: float = 0.0

    def __post_init__(self) -> None:
        self.trust(self.asked_at)

    def trust(self, asked_at: float) -> None:
        """Trust a lease that was asked for at this instant."""
        length = self.job.lease.total_seconds()
        self.trusted_until = asked_at + length - min(length * MARGIN_SHARE, LONGEST_MARGIN)

    @property
    def deadline(self) -> float:
        return self.asked_at + self.job.max_duration.total_seconds()


class Keeper:
    """Hold the parent's own connection. Every call raises psycopg.OperationalError in an outage and may be repeated."""

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self._connection: psycopg.Connection[Any] | None = None

    def claim(self, *, job_id: int, kinds: list[str]) -> Held | None:
        """Take the queued job; None when there is nothing to take."""
        asked_at = monotonic()
        with self._open().cursor(row_factory=dict_row) as cursor:
            cursor.execute(statements.text("claim").encode(), {"id": job_id, "owner": self.owner, "kinds": kinds})
            row = cursor.fetchone()
        if row is None:
            return None
        job = Job.from_db("default", _COLUMNS, [row[name] for name in _NAMES])
        job.tenant = _tenant(row)
        return Held(job=job, steps=row["steps"], asked_at=asked_at)

    def renew(self, held: Held) -> bool | None:
        """Extend the lease; return whether the job is to be cancelled, None when the lease is lost."""
        asked_at = monotonic()
        values = {"id": held.job.pk, "fence": held.job.fence, "owner": self.owner}
        rows = self.execute("renew", values)
        if not rows:
            return None
        held.trust(asked_at)
        return bool(rows[0][0])

    def look(self, held: Held) -> bool:
        """Return whether the job is to be cancelled. Losing it shows at the next renewal."""
        rows = self.execute("look", {"id": held.job.pk, "fence": held.job.fence})
        return bool(rows and rows[0][0])

    def end_queries(self, held: Held) -> None:
        """End what a killed run left running on the server."""
        self._query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = %(name)s AND usename = current_user AND pid <> pg_backend_pid()",
            {"name": application_name(held.job)},
        )

    def execute(self, name: str, values: Mapping[str, Any]) -> statements.Rows:
        """Run a statement of `sql/`; the shape that `settling` takes."""
        return self._query(statements.text(name), values)

    def execute_all(self, batch: list[tuple[str, dict[str, Any]]]) -> list[statements.Rows]:
        """Run the statements in order, in one transaction and one round trip."""
        if len(batch) == 1:
            return [self.execute(*batch[0])]
        opened = self._open()
        with opened.pipeline():
            cursors = [opened.execute(statements.text(name).encode(), values) for name, values in batch]
        return [cursor.fetchall() for cursor in cursors]

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def descriptor(self) -> int | None:
        """Return the connection's file descriptor, which a fork must not share."""
        if self._connection is None or self._connection.closed:
            return None
        return self._connection.fileno()

    def _query(self, text: str, values: Mapping[str, Any]) -> statements.Rows:
        with self._open().cursor(row_factory=tuple_row) as cursor:
            cursor.execute(text.encode(), values)
            return cursor.fetchall() if cursor.description is not None else []

    def _open(self) -> psycopg.Connection[Any]:
        if self._connection is None or self._connection.closed:
            # Bound by the server and prepared: these few statements are all that is ever run here.
            self._connection = psycopg.connect(**_parameters(), autocommit=True, prepare_threshold=1)
        return self._connection


def application_name(job: Job) -> str:
    """Name a run's own connections, so that its keeper can find them on the server."""
    return f"backoffice job {job.execution}"


def _parameters() -> dict[str, Any]:
    wanted: dict[str, Any] = dict(connections["default"].get_connection_params())
    kept = {name: value for name, value in wanted.items() if name in _REACHING or name.startswith("ssl")}
    options = f"-c statement_timeout={STATEMENT_TIMEOUT} -c lock_timeout=2s"
    return {**kept, "application_name": "backoffice worker", "options": options, "tcp_user_timeout": 10_000}


def _tenant(row: Mapping[str, Any]) -> Tenant:
    values = {field.attname: field.to_python(row["tenant"][field.column]) for field in Tenant._meta.concrete_fields}
    return Tenant.from_db("default", list(values), list(values.values()))
