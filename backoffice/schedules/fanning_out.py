"""Keep one schedule row for each definition and tenant, and follow edits of the definitions."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.db import transaction
from django.db.models import F

from backoffice.audit import recording
from backoffice.schedules import base, materialising, planning
from backoffice.schedules.base import ManualJob, ScheduledJob
from backoffice.schedules.materialising import Planned, Row
from backoffice.schedules.models import Misfire, Schedule
from backoffice.schedules.timing import Timing
from backoffice.schedules.work import Spread
from backoffice.tenants import scope
from backoffice.tenants.models import PLATFORM_ID, Tenant


def fan_out(*, now: datetime) -> None:
    """Make missing rows, retire those whose definition is gone, and follow definitions that changed."""
    with scope.unscoped(reason="schedules are kept for every tenant at once"):
        rows = {(row.tenant_id, row.definition): row for row in Schedule.objects.all()}
        tenants = dict(Tenant.objects.in_bulk())
    missing = []
    for job in base.jobs:
        for tenant_id in _whose(job, tenants):
            row = rows.pop((tenant_id, job.name), None)
            if row is None:
                missing.append(_row(job, tenant_id, now=now))
            elif row.retired_at is not None or row.timing != _timing(job):
                with scope.open(tenants[tenant_id]):
                    follow_edit(schedule_id=row.pk, job=job, now=now)
    with scope.unscoped(reason="schedules are kept for every tenant at once"):
        Schedule.objects.bulk_create(missing, ignore_conflicts=True)
        gone = [row.pk for row in rows.values() if row.retired_at is None]
        if gone:
            Schedule.objects.filter(pk__in=gone, retired_at__isnull=True).update(retired_at=now)


def follow_edit(*, schedule_id: int, job: ScheduledJob | ManualJob, now: datetime) -> None:
    """Plan what the old timing had due, then go on with the new one from max(cursor, the edit).

    An instant that is due in the very second of the edit belongs to the old timing, once.
    """
    with transaction.atomic(durable=True):
        row = Schedule.objects.select_for_update().get(pk=schedule_id)
        before, after = row.timing, _timing(job)
        if row.retired_at is None and before == after:
            return  # another scheduler was faster
        if row.retired_at is None:
            if row.paused_at is None:
                plan_until(row, job=job, now=now)
            else:
                leave_out(row, now=now)
            row.refresh_from_db()
        row.cursor = max(row.cursor, now)
        row.timing, row.retired_at = after, None
        row.next_at = next_instant(job, after=row.cursor)
        row.save(update_fields=["cursor", "timing", "retired_at", "next_at"])
        recording.record(
            actor="system:scheduler",
            actor_user_id=None,
            acting_for=f"definition:{row.definition}",
            act="schedule.edited",
            target=f"schedule:{row.pk}",
            data={"before": before, "after": after, "from": row.cursor},
        )


def plan_until(row: Schedule, *, job: ScheduledJob | ManualJob, now: datetime) -> None:
    """Materialise what the row's own timing has due, under the lock that the caller holds."""
    if row.timing is None or not isinstance(job, ScheduledJob):
        return
    planned = Planned()
    locked = Row(row.pk, row.tenant_id, row.definition, Timing.from_data(row.timing), row.cursor)
    materialising.plan(planned, locked, job=job, now=now)
    materialising.write(planned)


def leave_out(row: Schedule, *, now: datetime) -> int:
    """Count and leave out what the row's own timing had due during its pause; the caller holds the lock."""
    passed = planning.due(Timing.from_data(row.timing), cursor=row.cursor, now=now) if row.timing is not None else []
    if passed:
        Misfire.objects.create(
            tenant_id=row.tenant_id,
            schedule=row,
            reason=Misfire.Reason.PAUSED,
            count=len(passed),
            first_at=passed[0],
            last_at=passed[-1],
        )
    Schedule.objects.filter(pk=row.pk).update(
        cursor=max(row.cursor, now), enumerated=F("enumerated") + len(passed), skipped=F("skipped") + len(passed)
    )
    return len(passed)


def _whose(job: ScheduledJob | ManualJob, tenants: dict[int, Tenant]) -> Iterable[int]:
    if job.spread is Spread.PLATFORM:
        return [PLATFORM_ID]
    return [tenant_id for tenant_id in tenants if tenant_id != PLATFORM_ID]


def _timing(job: ScheduledJob | ManualJob) -> dict[str, object] | None:
    return job.timing.as_data() if isinstance(job, ScheduledJob) else None


def next_instant(job: ScheduledJob | ManualJob, *, after: datetime) -> datetime | None:
    """Return the definition's next instant; None for a manual job, or when none is left."""
    if not isinstance(job, ScheduledJob):
        return None
    return next(iter(planning.upcoming(job.timing, after=after, count=1)), None)


def _row(job: ScheduledJob | ManualJob, tenant_id: int, *, now: datetime) -> Schedule:
    return Schedule(
        tenant_id=tenant_id, definition=job.name, timing=_timing(job), cursor=now, next_at=next_instant(job, after=now)
    )
