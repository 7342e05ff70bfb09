"""One reading session: its connection, its transaction, and the ways to read through it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

import psycopg
from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import OperationalError

from backoffice.errors import BackofficeError
from backoffice.sql import REPORTING_ROLE
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant

ALIAS = "reading"
QUERY_CANCELED = "57014"
Params = Sequence[Any] | Mapping[str, Any]


class Cancelled(BackofficeError):
    """Say that the session's query was stopped by `reading.cancel`."""


class TimedOut(BackofficeError):
    """Say that the session ran into its time limit."""


class Session:
    """Read within the session's snapshot. `as_of` is the instant everything read here is of."""

    def __init__(self, wrapper: BaseDatabaseWrapper, *, name: str, deadline: float) -> None:
        self._wrapper = wrapper
        self.name = name
        self.deadline = deadline
        self.as_of: datetime = self.rows("SELECT now()")[0][0]

    def rows(self, sql: str, params: Params = ()) -> list[tuple[Any, ...]]:
        """Run one statement with bound values and return its rows: for results that are known to be small."""
        self.check_time()
        with self._wrapper.cursor() as cursor:
            cursor.execute(sql, params)
            return cursor.fetchall()

    def table(self, sql: str, params: Params = ()) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Run one statement with bound values and return its column names and rows."""
        self.check_time()
        with self._wrapper.cursor() as cursor:
            cursor.execute(sql, params)
            return [column.name for column in cursor.description], cursor.fetchall()

    def copy_rows(self, sql: str, params: Params = ()) -> Iterator[memoryview | bytes]:
        """Stream `COPY (...) TO STDOUT`, a block a row.

        COPY itself takes no bound values: the driver merges them as escaped literals.
        """
        self.check_time()
        # The driver's own cursor: Django's debugging one knows no values here.
        with self._wrapper.connection.cursor() as cursor, cursor.copy(sql, params) as blocks:
            yield from blocks

    def check_time(self) -> None:
        """Raise TimedOut once the session is past its limit, and hold the next statement to what is left of it.

        The server's own timeout counts per statement; this is what bounds the snapshot as a whole.
        """
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimedOut(self.name)
        with self._wrapper.cursor() as cursor:
            cursor.execute("SELECT set_config('statement_timeout', %s, true)", [f"{max(1, int(left * 1000))}ms"])


@contextmanager
def session(*, tenant: Tenant, timeout: timedelta, name: str) -> Iterator[Session]:
    """Open the reporting connection for the block; `QuerySet.using(reading.ALIAS)` reads through it too.

    `tenant` must be the open one. Times without a zone of their own are rendered in the tenant's.
    Raises Cancelled or TimedOut when the server stopped a query. One session a thread at a time.
    """
    if scope.current().pk != tenant.pk:
        raise ValueError("a reading session is of the open tenant")
    if getattr(connections._connections, ALIAS, None) is not None:  # type: ignore[attr-defined]  # a thread's own
        raise RuntimeError("this thread has a reading session open already")
    wrapper = connections["default"].copy(alias=ALIAS)
    # Django marks what it reads with this zone, so it is told here and not by a SET of ours.
    wrapper.settings_dict["TIME_ZONE"] = tenant.time_zone
    wrapper.settings_dict["OPTIONS"] = {**wrapper.settings_dict["OPTIONS"], "application_name": name[:63]}
    connections[ALIAS] = wrapper
    deadline = time.monotonic() + timeout.total_seconds()
    try:
        with _translated(name=name, deadline=deadline), transaction.atomic(using=ALIAS):
            _begin(wrapper, tenant=tenant)
            yield Session(wrapper, name=name, deadline=deadline)
    finally:
        wrapper.close()
        del connections[ALIAS]


def _begin(wrapper: BaseDatabaseWrapper, *, tenant: Tenant) -> None:
    with wrapper.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        cursor.execute(f"SET LOCAL ROLE {REPORTING_ROLE}")
        cursor.execute("SELECT set_config('backoffice.tenant', %s, true)", [str(tenant.pk)])


@contextmanager
def _translated(*, name: str, deadline: float) -> Iterator[None]:
    """Tell a cancelled query from one that ran out of time: the server uses one code for both."""
    try:
        yield
    except (OperationalError, psycopg.OperationalError) as error:
        cause = error if isinstance(error, psycopg.Error) else error.__cause__
        if getattr(cause, "sqlstate", None) != QUERY_CANCELED:
            raise
        raise (TimedOut(name) if time.monotonic() >= deadline - 0.05 else Cancelled(name)) from error
