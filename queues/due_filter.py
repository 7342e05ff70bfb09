"""The list's filter by due time: what is overdue or due soon, and what has no due time at all.

Each choice that looks ahead holds what is overdue too: who asks for the next ten minutes must not miss what
is late already. Only what awaits a decision is ever due.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import Q
from django.utils.translation import gettext as _

from backoffice.schedules import zones
from queues import calendars
from queues.base import Queue
from queues.models.item import open_items

NAME = "due"
NONE = "none"
_AHEAD = {"overdue": timedelta(0), "10m": timedelta(minutes=10), "1h": timedelta(hours=1)}
TIMED = (*_AHEAD, "today")


def choices() -> list[tuple[str, str]]:
    """Return the filter's values with their words."""
    return [
        ("overdue", _("Overdue")),
        ("10m", _("Overdue or within 10 minutes")),
        ("1h", _("Overdue or within 1 hour")),
        ("today", _("Overdue or today")),
        (NONE, _("No due time")),
    ]


def condition(queue: Queue, value: str, *, now: datetime) -> Q:
    """Return the condition of the items that a value of the filter lets through; all, for a value that is none."""
    if value == NONE:
        return open_items(queue.model) & Q(due_at__isnull=True)
    if value not in TIMED:
        return Q()
    until = _end_of_today(now) if value == "today" else now + _AHEAD[value]
    return open_items(queue.model) & Q(due_at__lte=until)


def _end_of_today(now: datetime) -> datetime:
    """Return the last instant of the day in the tenant's zone: the same for everybody who shares a view."""
    zone = zones.load(calendars.zone())
    tomorrow = now.astimezone(zone).date() + timedelta(days=1)
    return datetime(tomorrow.year, tomorrow.month, tomorrow.day, tzinfo=zone) - timedelta(microseconds=1)
