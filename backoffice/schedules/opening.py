"""Open a job for each occurrence that waits for one, as `still_going` allows."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from django.db import connection, transaction
from django.db.models import F

from backoffice.jobs import submitting
from backoffice.jobs.models import Job
from backoffice.schedules import base
from backoffice.schedules.base import ScheduledJob, StillGoing
from backoffice.schedules.models import Misfire, Occurrence, Schedule
from backoffice.sql import read
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant, User

_SQL = Path(__file__).parent / "sql"
BATCH = 100  # schedules handled in one transaction
MOST = 200  # jobs opened in one transaction


def open_waiting(*, limit: int = BATCH) -> int:
    """Open jobs for waiting occurrences, oldest first, under their schedules' locks; return how many.

    What is due while an earlier one is going waits (`queue`), goes beside it (`allow`) or is left
    out and counted (`skip`). A paused schedule opens nothing.
    """
    with transaction.atomic(durable=True), connection.cursor() as cursor:
        cursor.execute(read(_SQL / "lock_waiting.sql"), {"limit": limit})
        held = cursor.fetchall()
        if not held:
            return 0
        with scope.unscoped(reason="the scheduler opens the occurrences of every tenant"):
            ids = [row[0] for row in held]
            waiting = defaultdict(list)
            for occurrence in Occurrence.objects.filter(
                schedule__in=ids, state=Occurrence.State.SCHEDULED, live=False
            ).order_by("scheduled_at", "id")[:MOST]:
                waiting[occurrence.schedule_id].append(occurrence)
            going = set(Occurrence.objects.filter(schedule__in=ids, live=True).values_list("schedule_id", flat=True))
            tenants = Tenant.objects.in_bulk({row[1] for row in held})
        opened = 0
        for schedule_id, tenant_id, definition in held:
            if definition not in base.jobs or not waiting[schedule_id]:
                continue
            with scope.open(tenants[tenant_id]):
                opened += _open(base.jobs.get(definition), waiting[schedule_id], going=schedule_id in going)
    return opened


def _open(job: base.ScheduledJob | base.ManualJob, waiting: list[Occurrence], *, going: bool) -> int:
    policy = job.still_going if isinstance(job, ScheduledJob) else StillGoing.ALLOW
    if policy is StillGoing.SKIP and going:
        _leave_out(waiting)
        return 0
    chosen = waiting if policy is StillGoing.ALLOW else [] if going else waiting[:1]
    return sum(not submit(occurrence, job_name=job.name).is_final for occurrence in chosen)


def submit(
    occurrence: Occurrence,
    *,
    job_name: str,
    replay_of: Job | None = None,
    requested_by: User | None = None,
) -> Job:
    """Submit the occurrence's job in the caller's transaction. The database admits one live job of each.

    The occurrence turns `live` with it: it follows its job in every statement, see the migration.
    """
    again = f"#{replay_of.pk}" if replay_of is not None else ""
    return submitting.submit(
        kind=kind_of(job_name),
        key=f"{occurrence.identity}{again}",
        arguments={"occurrence": occurrence.pk},
        requested_by=requested_by,
        occurrence=occurrence.pk,
        replay_of=replay_of.pk if replay_of is not None else None,
    )


def kind_of(job_name: str) -> str:
    """Return the name of the job kind that does this scheduled job's work."""
    return f"schedule:{job_name}"


def _leave_out(waiting: list[Occurrence]) -> None:
    """Mark the occurrences skipped, count them, and write why."""
    first, last = waiting[0], waiting[-1]
    Occurrence.objects.filter(pk__in=[occurrence.pk for occurrence in waiting]).update(
        state=Occurrence.State.SKIPPED, safe_error="An earlier run was still going."
    )
    Schedule.objects.filter(pk=first.schedule_id).update(
        materialised=F("materialised") - len(waiting), skipped=F("skipped") + len(waiting)
    )
    Misfire.objects.create(
        tenant=scope.current(),
        schedule_id=first.schedule_id,
        reason=Misfire.Reason.GOING,
        count=len(waiting),
        first_at=first.scheduled_at,
        last_at=last.scheduled_at,
    )
