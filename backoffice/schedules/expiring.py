"""Apply retention: occurrences, ended jobs and receipts past their settings go. The commands, and what they work on."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from backoffice import livesettings
from backoffice.commands import Actor, Outcome, command
from backoffice.jobs import statements
from backoffice.schedules import base
from backoffice.schedules.models import Misfire, Occurrence, Schedule
from backoffice.schedules.work import SYSTEM, Item, each_tenant
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant

BATCH = 5_000
MOST = 50_000  # rows that one command removes; the next run removes more

_RECEIPTS = """
DELETE FROM commands_receipt WHERE id IN (
    SELECT id FROM commands_receipt
     WHERE tenant_id = %(tenant)s AND created_at < %(before)s AND key NOT LIKE 'plan:%%' LIMIT %(limit)s)
"""


@command("occurrences.expire", systems=(SYSTEM, "shell"))
def expire_occurrences(*, actor: Actor, schedule_id: int, before: str) -> Outcome:
    """Remove the schedule's occurrences and misfires from before this instant. The cursor stays."""
    limit = datetime.fromisoformat(before)
    removed = 0
    while removed < MOST:
        old = Occurrence.objects.filter(schedule=schedule_id, scheduled_at__lt=limit, live=False)
        batch = list(old.order_by("scheduled_at").values_list("pk", flat=True)[:BATCH])
        if not batch:
            break
        removed += Occurrence.objects.filter(pk__in=batch, live=False).delete()[0]
    Misfire.objects.filter(schedule=schedule_id, at__lt=limit).delete()
    return Outcome(target=f"schedule:{schedule_id}", data={"removed": removed})


@command("jobs.expire", systems=(SYSTEM, "shell"))
def expire_jobs(*, actor: Actor, before: str) -> Outcome:
    """Remove the open tenant's jobs that ended before this instant, with their steps and events."""
    removed = 0
    while removed < MOST:
        values = {"tenant": scope.current().pk, "before": datetime.fromisoformat(before), "limit": BATCH}
        gone = int(statements.on_django("purge", values)[0][0])
        removed += gone
        if gone < BATCH:
            break
    return Outcome(target="jobs", data={"removed": removed})


@command("receipts.expire", systems=(SYSTEM, "shell"))
def expire_receipts(*, actor: Actor, before: str) -> Outcome:
    """Remove the open tenant's receipts from before this instant. Those of plan lines are kept for good."""
    removed = 0
    limit = datetime.fromisoformat(before)
    with connection.cursor() as cursor:
        while removed < MOST:
            values: dict[str, Any] = {"tenant": scope.current().pk, "before": limit, "limit": BATCH}
            cursor.execute(_RECEIPTS, values)
            removed += cursor.rowcount
            if cursor.rowcount < BATCH:
                break
    return Outcome(target="receipts", data={"removed": removed})


def schedules_with_retention(*, now: datetime, after: str, limit: int) -> Sequence[Item]:
    """Select every schedule with the instant before which its own retention setting lets occurrences go."""
    with scope.unscoped(reason="retention is applied to every tenant's occurrences, an item a schedule"):
        rows = list(Schedule.objects.select_related("tenant").filter(pk__gt=int(after or 0)).order_by("pk")[:limit])
    return [
        Item(
            key=f"{row.pk:019d}",
            arguments={"schedule_id": row.pk, "before": _before(now, row.tenant, _retention(row))},
            tenant=row.tenant,
        )
        for row in rows
    ]


def tenants_with_job_retention(*, now: datetime, after: str, limit: int) -> Sequence[Item]:
    """Select every tenant with the instant before which ended jobs go."""
    return [
        Item(key=key, arguments={"before": _before(now, tenant, "jobs.retention")}, tenant=tenant)
        for key, tenant in each_tenant(after=after, limit=limit)
    ]


def tenants_with_receipt_retention(*, now: datetime, after: str, limit: int) -> Sequence[Item]:
    """Select every tenant with the instant before which receipts go: later than any occurrence they belong to."""
    items = []
    for key, tenant in each_tenant(after=after, limit=limit):
        with scope.open(tenant):
            longest = max(livesettings.get(job.retention) for job in base.jobs)
            days = max(livesettings.get("commands.receipt_retention"), longest + 1)
        before = (now - timedelta(days=days)).isoformat()
        items.append(Item(key=key, arguments={"before": before}, tenant=tenant))
    return items


def _retention(row: Schedule) -> str:
    return base.jobs.get(row.definition).retention if row.definition in base.jobs else "schedules.retention"


def _before(now: datetime, tenant: Tenant, setting: str) -> str:
    with scope.open(tenant):
        return (now - timedelta(days=livesettings.get(setting))).isoformat()
