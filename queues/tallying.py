"""Count what happened in a queue by the quarter of an hour, and keep it once the quarter is over.

A quarter of an hour suits every time zone: none is offset by less. It is kept `SETTLES` after its end, when
no event of it can still be on its way: an event is the last statement of its command. What is kept is never
counted again, and nothing depends on it: the overview counts what is not kept yet from the events.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from django.db import connection
from psycopg import sql as names

from backoffice import sql
from backoffice.commands import Actor, Outcome, command
from backoffice.schedules import Item
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant
from queues import handing
from queues.base import Queue, queues
from queues.clocks import database_now
from queues.models import Tally

QUARTER = timedelta(minutes=15)
SETTLES = timedelta(minutes=5)
KEPT = timedelta(days=4)  # the overview shows two days; a day's local midnight lies within
MOST = 96  # quarters of one queue that one command keeps
STEPS = 32  # steps of durations in an octave: a step's longest is 2.2 % longer than its shortest

_SQL = Path(__file__).parent / "sql"
_HOLDS = ("item.claim", "item.claim-next", "item.undo", *handing.HANDS)
_Quarters = list[tuple[datetime, dict[str, Any]]]


@command("queue.tally", systems=("schedules", "shell"), unaudited="it only counts what is there")
def tally_tenant(*, actor: Actor) -> Outcome:
    """Keep the figures of the quarters that are over, of every queue of the open tenant; forget the oldest."""
    now = database_now()
    kept = 0
    for listed in queues:
        since = tallied_to(queue=listed, since=floor(now - KEPT / 2))
        before = min(floor(now - SETTLES), since + QUARTER * MOST)
        if since < before:
            kept += _keep(listed, since, before)
    Tally.objects.filter(quarter__lt=now - KEPT).delete()
    return Outcome(data={"kept": kept})


def tenants_to_tally(*, now: datetime, after: str, limit: int) -> Sequence[Item]:
    """Select every tenant some queue of which has a quarter that is over and not kept."""
    last = floor(now - SETTLES) - QUARTER
    number = len(list(queues))
    with scope.unscoped(reason="the overview's figures are kept in every tenant, an item a tenant"):
        done = Counter(Tally.objects.filter(quarter=last).values_list("tenant_id", flat=True))
    through = [tenant for tenant, queues_done in done.items() if queues_done >= number]
    found = Tenant.objects.filter(pk__gt=int(after or 0)).exclude(pk__in=through).order_by("pk")[:limit]
    return [Item(key=f"{tenant.pk:019d}", arguments={}, tenant=tenant) for tenant in found]


def tallied_to(*, queue: Queue, since: datetime) -> datetime:
    """Return the end of the last quarter that is kept, or `since` where none after it is."""
    last = Tally.objects.filter(kind=queue.model._meta.model_name).order_by("-quarter").first()
    return max(since, last.quarter + QUARTER) if last is not None else since


def kept(*, queue: Queue, since: datetime) -> _Quarters:
    """Return the kept figures from an instant on."""
    rows = Tally.objects.filter(kind=queue.model._meta.model_name, quarter__gte=since)
    return list(rows.order_by("quarter").values_list("quarter", "figures"))


def counted(*, queue: Queue, since: datetime, before: datetime) -> _Quarters:
    """Count the quarters between two instants from the events and the arrivals."""
    with connection.cursor() as cursor:
        cursor.execute(_composed("overview_quarters.sql", queue), _bound(queue, since, before))
        return [(quarter, _read(figures)) for quarter, figures in cursor.fetchall()]


def longest(step: int) -> timedelta:
    """Return the longest duration of a step."""
    return timedelta(seconds=2 ** (step / STEPS))


def floor(instant: datetime) -> datetime:
    """Return the beginning of the instant's quarter of an hour."""
    local = instant.astimezone(UTC)
    return local.replace(minute=local.minute // 15 * 15, second=0, microsecond=0)


def _keep(queue: Queue, since: datetime, before: datetime) -> int:
    quarters = names.SQL(_composed("overview_quarters.sql", queue))
    text = names.SQL(sql.read(_SQL / "tally.sql")).format(quarters=quarters).as_string(None)
    with connection.cursor() as cursor:
        cursor.execute(text, _bound(queue, since, before))
        return cursor.rowcount


def _composed(file: str, queue: Queue) -> str:
    return names.SQL(sql.read(_SQL / file)).format(items=names.Identifier(queue.model._meta.db_table)).as_string(None)


def _bound(queue: Queue, since: datetime, before: datetime) -> dict[str, Any]:
    decisions = [action.command.name for action in queue.actions if action.decides]
    return {
        "tenant": scope.current().pk,
        "kind": queue.model._meta.model_name,
        "decisions": decisions,
        "hands": list(handing.HANDS),
        "acts": [*decisions, *_HOLDS, "item.skip", "item.expire"],
        "since": since,
        "before": before,
    }


def _read(figures: Any) -> dict[str, Any]:
    return json.loads(figures) if isinstance(figures, str) else figures
