"""Due times in words: in a row of the list, and on the item's page with each clock and what stops it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils import formats, timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from backoffice.templatetags.show import span
from queues import calendars, due_rules, due_times
from queues.base import Queue
from queues.due_rules import Instants, Within
from queues.models import QueueItem
from queues.working_time import Calendar

SOON = timedelta(hours=1)


@dataclass(frozen=True)
class Due:
    """A due time as people read it. `kind` is "overdue", "soon" or "fine"; the words say so too, not colour alone."""

    at: datetime
    words: str
    exact: str
    clock: str
    kind: str
    badge: str


@dataclass(frozen=True)
class Clock:
    """One clock of an item: what it is for, how it stands, and when it runs out while it runs."""

    words: str
    gives: str
    stands: str
    at: datetime | None
    leads: bool


def due(queue: Queue, item: QueueItem, *, now: datetime) -> Due | None:
    """Write the item's due time; nothing where it is decided or has none."""
    if item.due_at is None or not item.is_open:
        return None
    left = item.due_at - now
    named = next((clock.words for clock in queue.due if clock.name == item.due_reason), item.due_reason)
    if left <= timedelta(0):
        words = _("overdue by %(span)s") % {"span": span(-left)} if left <= -timedelta(minutes=1) else _("due now")
        return Due(item.due_at, words, moment(item.due_at), named, "overdue", "badge--bad")
    words = _("in %(span)s") % {"span": span(left)} if left >= timedelta(minutes=1) else _("in under a minute")
    if left <= SOON:
        return Due(item.due_at, words, moment(item.due_at), named, "soon", "badge--warn")
    return Due(item.due_at, words, moment(item.due_at), named, "fine", "")


def panel(queue: Queue, item: QueueItem, *, now: datetime) -> dict[str, Any]:
    """Return what the item's page says of its due time; nothing for a decided item or a queue without clocks."""
    if not queue.due or not item.is_open:
        return {"due": None, "clocks": []}
    calendar = calendars.current()
    read = dict(zip([clock.name for clock in queue.due], due_times.instants(queue, item), strict=True))
    found = due(queue, item, now=now)
    leading = next((clock for clock in queue.due if found and clock.name == item.due_reason), None)
    return {
        "due": found,
        "due_sentence": _sentence(leading, read[leading.name], calendar) if leading else _none(queue, read),
        "due_stops": _("It stops with %(what)s.") % {"what": _stops(leading)} if leading else "",
        "clocks": [_clock(clock, read[clock.name], calendar, leading is clock) for clock in queue.due],
    }


def moment(instant: datetime) -> str:
    """Write an instant with its date and time in the active zone, as plain text."""
    local = timezone.localtime(instant)
    return f"{formats.date_format(local, 'j M Y')}, {formats.time_format(local, 'H:i')}"


def length(clock: Within, calendar: Calendar) -> str:
    """Write the time that a clock gives: "4 working hours", plain hours where every hour is one."""
    number = formats.localize(clock.hours)
    many = 1 if clock.hours == 1 else 2
    if calendar.always:
        return ngettext("%(number)s hour", "%(number)s hours", many) % {"number": number}
    return ngettext("%(number)s working hour", "%(number)s working hours", many) % {"number": number}


def _sentence(clock: Within, read: Instants, calendar: Calendar) -> str:
    """Say by which clock the item is due: "First response: within 4 working hours of 1 Dec 2026, 10:00."."""
    assert read.started is not None  # the clock gave a due time
    words = {"clock": clock.words, "length": length(clock, calendar), "start": moment(read.started)}
    said = _("%(clock)s: within %(length)s of %(start)s.") % words
    said = said[:1].upper() + said[1:]
    return f"{said} {_('Time for which it waited does not count.')}" if read.waits else said


def _none(queue: Queue, read: dict[str, Instants]) -> str:
    for clock in queue.due:
        if read[clock.name].paused and read[clock.name].started is not None:
            why = str(clock.pauses) or _("while it is paused")
            return _("No due time %(why)s.") % {"why": why}
    return _("No clock runs, so there is no due time.")


def _stops(clock: Within) -> str:
    return str(clock.stops) or _("the decision")


def _clock(clock: Within, read: Instants, calendar: Calendar, leads: bool) -> Clock:
    at = due_rules.ends(clock, calendar, read)
    if read.started is None:
        stands = _("not started")
    elif read.stopped is not None:
        stands = _("stopped %(at)s") % {"at": moment(read.stopped)}
    elif read.paused:
        stands = _("paused")
    elif at is None:
        stands = _("beyond the calendar")
    else:
        stands = _("due %(at)s") % {"at": moment(at)}
    return Clock(clock.words, length(clock, calendar), stands, at, leads)
