"""What the timetable removes from storage: expired files, and what broken runs left behind."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db.models import Q

from backoffice import storage
from backoffice.commands import Actor, Outcome, command
from backoffice.schedules import Item, each_tenant
from backoffice.storage.models import Artifact
from backoffice.tenants import scope


def expired_artifacts(*, now: datetime, after: str, limit: int) -> Sequence[Item]:
    """Select the artifacts of every tenant that are past their time."""
    tenant_id, _colon, artifact_id = after.partition(":")
    with scope.unscoped(reason="expired files are removed in every tenant, an item a file"):
        rows = Artifact.objects.select_related("tenant").filter(removed_at=None, expires_at__lte=now)
        if after:
            rows = rows.filter(Q(tenant__gt=int(tenant_id)) | Q(tenant=int(tenant_id), pk__gt=int(artifact_id)))
        found = list(rows.order_by("tenant_id", "pk")[:limit])
    return [
        Item(key=f"{row.tenant_id:019d}:{row.pk:019d}", arguments={"artifact_id": row.pk}, tenant=row.tenant)
        for row in found
    ]


def tenants_to_sweep(*, now: datetime, after: str, limit: int) -> Sequence[Item]:
    """Select every tenant, with the instant as of which its storage is swept."""
    return [
        Item(key=key, arguments={"now": now.isoformat()}, tenant=tenant)
        for key, tenant in each_tenant(after=after, limit=limit)
    ]


@command("storage.sweep", systems=("schedules", "shell"))
def sweep_storage(*, actor: Actor, now: str) -> Outcome:
    """Remove objects of the open tenant that no artifact names and that are older than any run."""
    removed = storage.sweep_unpublished(now=datetime.fromisoformat(now))
    return Outcome(target="storage", data={"removed": removed})
