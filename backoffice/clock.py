"""The application's clock. Leases use the database's `clock_timestamp()`, never this one."""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> datetime:
    """Read the current instant, aware and in UTC. Only views and loops call it; the domain takes `now`."""
    return datetime.now(tz=UTC)
