"""The working calendar of the open tenant, as due times are worked out by it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import date
from typing import Any

import structlog

from backoffice.schedules import zones
from backoffice.schedules.timing import InvalidTiming
from backoffice.tenants import scope
from queues import working_time
from queues.models import Holiday, WorkingCalendar
from queues.working_time import Calendar, Range

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Kept:
    """A calendar with its version (0: the tenant has not changed the usual one) and the names of its holidays."""

    calendar: Calendar
    version: int
    holidays: list[tuple[date, str]]


def current() -> Calendar:
    """Return the open tenant's calendar."""
    return kept().calendar


def kept() -> Kept:
    """Read the open tenant's calendar; who has none works from Monday to Friday, 9 to 17, in the tenant's zone."""
    in_zone = zone()
    row = WorkingCalendar.objects.first()
    holidays = list(Holiday.objects.order_by("day").values_list("day", "name"))
    hours = working_time.weekdays(in_zone).hours if row is None else read(row.hours)
    calendar = Calendar(in_zone, hours, frozenset(day for day, _name in holidays))
    return Kept(calendar, row.version if row else 0, holidays)


def read(stored: list[list[list[int]]]) -> tuple[tuple[Range, ...], ...]:
    """Return the hours as they are reckoned with, from what is stored."""
    return tuple(tuple((first, last) for first, last in day) for day in stored)


def digest(calendar: Calendar, *more: Any) -> str:
    """Return what tells one calendar from another, together with what else a due time is worked out by."""
    parts = [calendar.zone, calendar.hours, sorted(day.isoformat() for day in calendar.holidays), *more]
    return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()


def zone() -> str:
    """Return the open tenant's zone; UTC for a name that the pinned zone data does not hold, as the page then shows."""
    name = scope.current().time_zone
    try:
        zones.load(name)
    except InvalidTiming:
        log.warning("calendar.unknown-zone", zone=name)
        return "UTC"
    return name
