"""What a queue declares about time: clocks of working time, and which of them an item is due by.

A clock starts at one instant of an item and stops at another, or with the decision. While its condition to
pause holds there is no due time from it; the stretches it has paused before do not count. An item is due
when the first of its running clocks runs out: a clock that has not started, or has stopped, never counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q
from django.utils.functional import Promise

from queues import working_time
from queues.working_time import Calendar

Words = str | Promise
LONGEST = timedelta(days=366)


@dataclass(frozen=True)
class Within:
    """One clock: so much working time after an instant, until another.

    `after` and `until` name fields of the item; without `until` the decision stops the clock. It pauses
    while `paused` holds; `waits` names the field with the stretches that it paused before. `title` and
    `stops` say in people's words what the clock is for and what stops it.
    """

    name: str
    hours: float = field(kw_only=True)
    after: str = field(default="opened_at", kw_only=True)
    until: str = field(default="", kw_only=True)
    paused: Q | None = field(default=None, kw_only=True)
    waits: str = field(default="", kw_only=True)
    title: Words = field(default="", kw_only=True)
    stops: Words = field(default="", kw_only=True)
    pauses: Words = field(default="", kw_only=True)

    @property
    def length(self) -> timedelta:
        """The working time that the clock gives."""
        return timedelta(hours=self.hours)

    @property
    def words(self) -> str:
        """The clock's name for people."""
        return str(self.title or self.name)

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that hold the clock's instants and its pauses."""
        return tuple(filter(None, (self.after, self.until, self.waits)))

    def describe(self) -> dict[str, Any]:
        """Say what the clock is, for `manage.py definitions`."""
        return {
            "name": self.name,
            "working_hours": self.hours,
            "after": self.after,
            "until": self.until or "the decision",
            "paused": str(self.pauses or self.paused) if self.paused is not None else "",
        }

    def problems(self) -> list[str]:
        """Return what is wrong with how the clock is declared."""
        found = []
        if not self.name or len(self.name) > 60:
            found.append("its name has 1 to 60 characters")
        if isinstance(self.hours, bool) or not isinstance(self.hours, int | float) or not self.hours > 0:
            found.append("hours must be a number above 0")
        elif self.hours > LONGEST / timedelta(hours=1):
            found.append("hours must be a year at most")
        if self.after == self.until:
            found.append("it starts and stops at the same instant")
        if self.waits and self.paused is None:
            found.append("waits are kept but nothing pauses it")
        return found


@dataclass(frozen=True)
class Instants:
    """What one clock reads of an item. `waits` are the ended pauses."""

    started: datetime | None
    stopped: datetime | None = None
    paused: bool = False
    waits: Sequence[tuple[datetime, datetime]] = ()


@dataclass(frozen=True)
class Due:
    """When an item is due and by which clock; no instant, no reason where none runs."""

    at: datetime | None = None
    reason: str = ""


def due(clocks: Sequence[Within], calendar: Calendar, instants: Sequence[Instants]) -> Due:
    """Return the due time of the first clock to run out; of two at one instant, the one declared first."""
    found = Due()
    for clock, read in zip(clocks, instants, strict=True):
        at = ends(clock, calendar, read)
        if at is not None and (found.at is None or at < found.at):
            found = Due(at, clock.name)
    return found


def ends(clock: Within, calendar: Calendar, read: Instants) -> datetime | None:
    """Return when the clock runs out; None while it does not run, and where the calendar has no such time."""
    if read.started is None or read.paused:
        return None
    if read.stopped is not None:
        return None
    return working_time.add(calendar, read.started, clock.length, without=read.waits)
