"""Free what nobody holds any more, each minute, and score again what time has changed.

Neither is needed for correctness: an expired hold is free when it is read. The sweep keeps the
candidates few and writes the item's history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from django.db import connection
from django.db.models import Q
from django.db.models.functions import Now
from psycopg import sql as names

from backoffice import sql
from backoffice.audit import recording
from backoffice.commands import Actor, Outcome, command
from backoffice.schedules import Item
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant
from queues import due_times, scoring, sharing
from queues.base import Queue, queues
from queues.models.item import open_items

_SQL = Path(__file__).parent / "sql"
MOST = 500  # items that one command frees


@command("queue.sweep", systems=("schedules", "shell"))
def sweep_queue(*, actor: Actor, queue: str) -> Outcome:
    """Free the queue's expired holds and due-snoozed items in the open tenant; share out, where it does so."""
    listed = queues.get(queue)
    shared = sharing.share_free(actor=actor, listed=listed)  # first: memberships are locked before items
    values: dict[str, Any] = {"tenant": scope.current().pk, "open": list(listed.model.OPEN), "limit": MOST}
    with connection.cursor() as cursor:
        text = names.SQL(sql.read(_SQL / "sweep.sql")).format(items=names.Identifier(listed.model._meta.db_table))
        cursor.execute(text, values)
        freed = cursor.fetchall()
    for item_id, held in freed:
        if held:
            continue  # the lapse of a hold is noted by its table, whoever ends it (queues/lapsing.py)
        recording.record(
            actor=actor.name,
            actor_user_id=None,
            acting_for=actor.acting_for,
            act="item.wake",
            target=f"{listed.model._meta.model_name}:{item_id}",
        )
    return Outcome(target=f"queue:{queue}", data={"freed": len(freed), "shared": shared})


def queues_to_sweep(*, now: datetime, after: str, limit: int) -> Sequence[Item]:
    """Select each queue and tenant that has something to free."""
    found: list[tuple[str, str, int]] = []
    with scope.unscoped(reason="expired holds are swept in every tenant, an item a tenant and queue"):
        for listed in queues:
            due = Q(claim_holder__isnull=False, lease_until__lte=Now()) | Q(snoozed_until__lte=Now())
            if listed.assign is not None:
                due |= Q(claim_holder__isnull=True, snoozed_until__isnull=True)
            rows = listed.model.objects.filter(open_items(listed.model)).filter(due)
            for tenant_id in rows.order_by().values_list("tenant_id", flat=True).distinct():
                found.append((f"{listed.name}:{tenant_id:019d}", listed.name, tenant_id))
    found = sorted(one for one in found if one[0] > after)[:limit]
    tenants = Tenant.objects.in_bulk([tenant_id for _key, _name, tenant_id in found])
    return [Item(key=key, arguments={"queue": name}, tenant=tenants[tenant_id]) for key, name, tenant_id in found]


def ranges_to_score(*, now: datetime, after: str, limit: int) -> Sequence[Item]:
    """Select every range of open items whose score would change, tenant by tenant."""

    def ranges(listed: Queue) -> list[tuple[int, int]]:
        return scoring.ranges(listed, due=scoring.is_due(listed.rule, now=now)) if listed.rule is not None else []

    found = _ranges(ranges, from_tenant=after, now=now.isoformat())
    return list(islice((item for item in found if item.key > after), limit))


def ranges_to_time(*, now: datetime, after: str, limit: int) -> Sequence[Item]:
    """Select every range of open items whose due time is out of date, tenant by tenant."""
    found = _ranges(due_times.stale_ranges, from_tenant=after)
    return list(islice((item for item in found if item.key > after), limit))


def _ranges(find: Callable[[Queue], list[tuple[int, int]]], *, from_tenant: str, **more: Any) -> Iterator[Item]:
    """Iterate in the order of the keys, beginning with the tenant that a key names."""
    begun = int(from_tenant.partition(":")[0] or 1)
    for tenant in Tenant.objects.filter(pk__gte=begun).order_by("pk"):
        with scope.open(tenant):
            found = [(listed.name, find(listed)) for listed in queues]
        for name, ranges in found:
            for first, last in ranges:
                arguments = {"queue": name, "first": first, "last": last, **more}
                yield Item(key=f"{tenant.pk:019d}:{name}:{first:019d}", arguments=arguments, tenant=tenant)
