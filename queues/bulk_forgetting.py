"""Remove old bulk runs: results that are past their days, and choices that nothing came of within a day."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db.models import Q

from backoffice import livesettings
from backoffice.commands import Actor, Outcome, command
from backoffice.schedules import Item
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant
from queues.models import BulkLine, BulkRun

MOST = 50  # runs that one command removes; a run has up to 10,000 lines
_UNUSED = timedelta(days=1)


@command("bulk.forget", systems=("schedules", "shell"))
def forget_runs(*, actor: Actor, now: str) -> Outcome:
    """Remove the open tenant's old runs; what still runs is left alone."""
    runs = list(BulkRun.objects.filter(_old(datetime.fromisoformat(now))).order_by("pk").values_list("pk")[:MOST])
    gone = [pk for (pk,) in runs]
    BulkLine.objects.filter(run__in=gone).delete()
    BulkRun.objects.filter(pk__in=gone).delete()
    return Outcome(data={"forgotten": len(gone)})


def tenants_with_old(*, now: datetime, after: str, limit: int) -> Sequence[Item]:
    """Select every tenant that has runs old enough to look at."""
    with scope.unscoped(reason="old bulk runs are removed in every tenant, an item a tenant"):
        old = BulkRun.objects.filter(created_at__lt=now - _UNUSED)  # a tenant may keep its own for as short
        owners = set(old.order_by().values_list("tenant_id", flat=True).distinct())
    found = Tenant.objects.filter(pk__in=owners, pk__gt=int(after or 0)).order_by("pk")[:limit]
    return [Item(key=f"{one.pk:019d}", arguments={"now": now.isoformat()}, tenant=one) for one in found]


def _old(now: datetime) -> Q:
    kept = timedelta(days=livesettings.get("queues.bulk_days"))
    ended = Q(state=BulkRun.State.ENDED, created_at__lt=now - kept)
    return ended | Q(state=BulkRun.State.CHOSEN, created_at__lt=now - _UNUSED)
