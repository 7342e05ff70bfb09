"""What operators see of schedules: next instants, last outcome, misfires, lag."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Max, OuterRef, Q, QuerySet, Subquery
from django.utils.translation import gettext as _

from backoffice.jobs.models import Job
from backoffice.schedules import base, planning, zones
from backoffice.schedules.base import ManualJob, ScheduledJob
from backoffice.schedules.models import Misfire, Occurrence, Schedule
from backoffice.schedules.timing import Timing
from backoffice.tenants import scope

SHOWN = 50


@dataclass(frozen=True)
class Line:
    """One schedule on the list."""

    row: Schedule
    job: ScheduledJob | ManualJob | None
    last: Occurrence | None
    dead_letters: int
    lag: timedelta

    @property
    def timing(self) -> Timing | None:
        return Timing.from_data(self.row.timing) if self.row.timing is not None else None


@dataclass(frozen=True)
class Instant:
    """A planned instant as the schedule's zone and as the viewer's read it."""

    at: datetime
    there: datetime
    here: datetime


def lines(*, now: datetime) -> list[Line]:
    """List the open tenant's schedules; the platform sees everybody's."""
    with reach():
        latest = (
            Occurrence.objects.filter(schedule=OuterRef("pk"))
            .exclude(state=Occurrence.State.SKIPPED)
            .order_by("-scheduled_at")
        )
        rows = list(
            Schedule.objects.select_related("tenant")
            .annotate(
                last_id=Subquery(latest.values("pk")[:1]),
                dead=Count("occurrences", filter=Q(occurrences__state=Occurrence.State.DEAD_LETTER)),
            )
            .order_by("definition", "tenant__slug")
        )
        lasts = Occurrence.objects.in_bulk([row.last_id for row in rows if row.last_id])
    return [Line(row, definition(row), lasts.get(row.last_id), row.dead, lag(row, now=now)) for row in rows]


def find(*, name: str) -> QuerySet[Schedule]:
    """Return the rows of one definition that the open tenant reaches."""
    with reach():
        return Schedule.objects.select_related("tenant").filter(definition=name)


def definition(row: Schedule) -> ScheduledJob | ManualJob | None:
    """Return the definition of the row, or None when it is gone."""
    return base.jobs.get(row.definition) if row.definition in base.jobs else None


def lag(row: Schedule, *, now: datetime) -> timedelta:
    """Return how far planning is behind: since when the next instant has been due."""
    if row.next_at is None or row.paused_at is not None or row.retired_at is not None:
        return timedelta(0)
    return max(now - row.next_at, timedelta(0))


def upcoming(row: Schedule, *, viewer_zone: str, now: datetime, count: int = 5) -> list[Instant]:
    """Return the next instants in both zones; none while the schedule is paused or without a timing."""
    if row.timing is None or row.retired_at is not None:
        return []
    timing = Timing.from_data(row.timing)
    there, here = zones.load(timing.zone), zones.load(viewer_zone)
    return [
        Instant(at, at.astimezone(there), at.astimezone(here))
        for at in planning.upcoming(timing, after=max(row.cursor, now), count=count)
    ]


def recovery_points(row: Schedule) -> dict[str, datetime | None]:
    """Return when the schedule was last due, last started and last completed."""
    with reach():
        points: dict[str, datetime | None] = Occurrence.objects.filter(schedule=row).aggregate(
            scheduled=Max("scheduled_at"), started=Max("started_at"), completed=Max("completed_at")
        )
    return points


def occurrences(row: Schedule, *, state: str = "") -> list[Occurrence]:
    """Return the latest occurrences, the newest first."""
    with reach():
        found = Occurrence.objects.filter(schedule=row).order_by("-scheduled_at")
        return list((found.filter(state=state) if state else found)[:SHOWN])


def changed(jobs: Sequence[Job]) -> Mapping[int, str]:
    """Say of each job how many items of its occurrence are done, for the notice to who ran it by hand."""
    counted = Occurrence.objects.filter(pk__in=[job.occurrence for job in jobs if job.occurrence])
    items = {pk: more for pk, *more in counted.values_list("pk", "items_done", "items_refused")}
    words = _("%(done)s items done, %(refused)s refused.")
    return {
        job.pk: words % dict(zip(("done", "refused"), items[job.occurrence], strict=True))
        for job in jobs
        if job.occurrence in items
    }


def misfires(row: Schedule) -> list[Misfire]:
    """Return what was left out lately, the newest first."""
    with reach():
        return list(Misfire.objects.filter(schedule=row).order_by("-id")[:20])


def reach() -> AbstractContextManager[None]:
    """Let the platform's operators reach every tenant's schedules; everybody else their own."""
    if scope.current().is_platform:
        return scope.unscoped(reason="the platform's operators look after every tenant's schedules")
    return nullcontext()
