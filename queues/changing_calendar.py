"""Change the working calendar of the open tenant; every due time then follows, in batches in the background."""

from __future__ import annotations

from datetime import date
from typing import Any

from django.db.models import F
from django.utils.translation import gettext as _

from backoffice import jobs
from backoffice.commands import Actor, Outcome, command
from backoffice.errors import Refusal
from backoffice.tenants import scope
from queues import calendars, hours
from queues.models import Holiday, WorkingCalendar

PERMISSION = "queues.change_calendar"
REWORK = "queues.rework-due-times"
MOST_HOLIDAYS = 1_000
EARLIEST, LATEST = date(2000, 1, 1), date(2100, 12, 31)
DAYS = 7


@command("calendar.set-hours", permission=PERMISSION, systems=("shell",), target="calendar:hours")
def set_hours(*, actor: Actor, hours_by_day: list[list[list[int]]], version: int) -> Outcome:
    """Set the working hours of every weekday, Monday first; refuse a week that has none, and a change not seen."""
    week = _week(hours_by_day)
    row = _locked()
    if row.version != version and not (row.version == 1 and version == 0):
        raise Refusal(
            "changed", _("Somebody changed the calendar since you opened it. Reload the page and look again.")
        )
    before = row.hours
    WorkingCalendar.objects.filter(pk=row.pk).update(hours=week)
    return _changed(actor, row, {"before": before, "hours": week})


@command("calendar.add-holiday", permission=PERMISSION, systems=("shell",), target="calendar:{day}")
def add_holiday(*, actor: Actor, day: str, name: str) -> Outcome:
    """Name a day on which nobody works."""
    off, kept = _day(day), " ".join(name.split())
    if not kept or len(kept) > 100:
        raise Refusal("bad-name", _("Name the holiday in 1 to 100 characters."))
    row = _locked()
    if Holiday.objects.filter(day=off).exists():
        raise Refusal("taken", _("This day is a holiday already."))
    if Holiday.objects.count() >= MOST_HOLIDAYS:
        raise Refusal(
            "too-many", _("There are %(most)d holidays already. Remove old ones first.") % {"most": MOST_HOLIDAYS}
        )
    Holiday.objects.create(tenant=scope.current(), day=off, name=kept)
    return _changed(actor, row, {"day": day, "name": kept})


@command("calendar.remove-holiday", permission=PERMISSION, systems=("shell",), target="calendar:{day}")
def remove_holiday(*, actor: Actor, day: str) -> Outcome:
    """Make a holiday a day like any other."""
    off = _day(day)
    row = _locked()
    name = Holiday.objects.filter(day=off).values_list("name", flat=True).first()
    if name is None:
        raise Refusal("gone", _("This day is no holiday any more."))
    Holiday.objects.filter(day=off).delete()
    return _changed(actor, row, {"day": day, "name": name})


def _week(hours_by_day: list[list[list[int]]]) -> list[list[list[int]]]:
    """Return the week as it is kept."""
    if len(hours_by_day) != DAYS:
        raise Refusal("bad-hours", _("A week has seven days."))
    week: list[list[list[int]]] = []
    for day in hours_by_day:
        if any(len(pair) != 2 or not all(type(minute) is int for minute in pair) for pair in day):
            raise Refusal("bad-hours", _("Hours are pairs of minutes after midnight."))
        week.append([[first, last] for first, last in hours.joined([(first, last) for first, last in day])])
    if not any(week):
        raise Refusal("empty-week", _("A week needs working hours: without any, nothing would ever be due."))
    return week


def _locked() -> WorkingCalendar:
    """Return the tenant's calendar, locked; who has none gets the usual one first."""
    usual = [[list(pair) for pair in day] for day in calendars.kept().calendar.hours]
    WorkingCalendar.objects.bulk_create([WorkingCalendar(tenant=scope.current(), hours=usual)], ignore_conflicts=True)
    return WorkingCalendar.objects.select_for_update(no_key=True).get()


def _changed(actor: Actor, row: WorkingCalendar, data: dict[str, Any]) -> Outcome:
    """Count the change, and submit what brings the due times up to date."""
    WorkingCalendar.objects.filter(pk=row.pk).update(version=F("version") + 1)
    version = row.version + 1
    jobs.submit(kind=REWORK, key=f"calendar:{version}", arguments={"version": version}, requested_by=actor.user)
    return Outcome(target="calendar:hours", data={**data, "version": version})


def _day(text: str) -> date:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise Refusal("bad-day", _("That is no date.")) from None
    if not EARLIEST <= day <= LATEST:
        raise Refusal("bad-day", _("A holiday lies between 2000 and 2100."))
    return day
