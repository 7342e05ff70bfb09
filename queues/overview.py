"""What a supervisor looks at: how a queue stands, what came and went, how long it took, who carries it.

Every figure is read along an index and bounded: counts by `CAP`, the past by `EVENTS` audit events. A
bound that is met is said on the page. Free, held and snoozed add up to the open items, which are the sum
of the ages.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from django.db import connection
from django.db.models import Count
from django.utils.translation import gettext as _
from psycopg import sql as names

from backoffice import sql
from backoffice.tenants import scope
from backoffice.tenants.models import User
from queues import listing
from queues.base import Queue
from queues.models import QueueItem
from queues.models.item import open_items

CAP = 100_000
EVENTS = 50_000
HOURS = 48
SOON = timedelta(minutes=15)
LISTED = 20

_SQL = Path(__file__).parent / "sql"


@dataclass(frozen=True)
class Standing:
    """How the queue stands at one instant. `ages` are open items by age, the youngest first."""

    ages: list[listing.Count]
    open: listing.Count
    held: listing.Count
    snoozed: listing.Count
    free: listing.Count
    oldest: datetime | None
    as_of: datetime


@dataclass(frozen=True)
class Load:
    """What one person carries: held now, and what they did within the window."""

    name: str
    held: int
    claimed: int
    skipped: int
    decided: int


@dataclass(frozen=True)
class Past:
    """What happened within the window. `since` is later than asked where the events of the window are too many."""

    since: datetime
    shortened: bool
    counts: dict[str, int]
    times: dict[str, list[timedelta]]
    hours: list[tuple[datetime, int, int]]
    people: list[Load]

    def share(self, what: str) -> str:
        """Write how many of the holds ended so; nothing where nobody held an item."""
        claimed = self.counts.get("claimed", 0)
        return f"{self.counts.get(what, 0) / claimed:.0%}" if claimed else "–"


def age_labels() -> list[str]:
    """Name the bands of `Standing.ages`."""
    return [_("under 1 day"), _("1–3 days"), _("3–7 days"), _("7–14 days"), _("14–30 days"), _("over 30 days")]


def standing(*, queue: Queue) -> Standing:
    """Count the queue as it is now, in one statement."""
    ages, held, snoozed, oldest, as_of = _rows("overview_now.sql", queue, cap=CAP)[0]
    counts = [listing.Count(min(number, CAP), number > CAP) for number in ages]
    whole = listing.Count(sum(one.number for one in counts), any(one.capped for one in counts))
    kept = [listing.Count(min(number, CAP), number > CAP) for number in (held, snoozed)]
    free = listing.Count(
        max(0, whole.number - kept[0].number - kept[1].number), whole.capped or kept[0].capped or kept[1].capped
    )
    return Standing(counts, whole, kept[0], kept[1], free, oldest, as_of)


def past(*, queue: Queue, now: datetime) -> Past:
    """Read the last `HOURS` hours from the audit events and the arrivals, by the hours of the tenant's zone."""
    zone = ZoneInfo(scope.current().time_zone)
    last = now.astimezone(zone).replace(minute=0, second=0, microsecond=0)
    hours = [last.astimezone(UTC) - timedelta(hours=back) for back in reversed(range(HOURS))]
    bound = {"since": hours[0], "zone": zone.key}
    counts, times, people, decided, begun = _rows(
        "overview_events.sql",
        queue,
        cap=EVENTS,
        kind=queue.model._meta.model_name,
        decisions=[action.command.name for action in queue.actions],
        **bound,
    )[0]
    arrived = dict(_rows("overview_arrivals.sql", queue, cap=CAP, **bound))
    return Past(
        since=begun or hours[0],
        shortened=begun is not None,
        counts=counts,
        times={what: [timedelta(seconds=max(0, float(one))) for one in parts] for what, parts in times.items()},
        hours=[
            (hour, arrived.get(int(hour.timestamp()), 0), decided.get(str(int(hour.timestamp())), 0)) for hour in hours
        ],
        people=_people(queue, people, now),
    )


def lapsing(*, queue: Queue, now: datetime) -> list[QueueItem]:
    """Return the held items whose lease ends soon, the first to end first."""
    rows = queue.model.objects.filter(open_items(queue.model), claim_holder__isnull=False)
    rows = rows.filter(lease_until__gt=now, lease_until__lte=now + SOON).select_related("claim_holder")
    return list(rows.order_by("lease_until")[:LISTED])


def _people(queue: Queue, worked: list[list[int]], now: datetime) -> list[Load]:
    live = queue.model.objects.filter(open_items(queue.model), claim_holder__isnull=False, lease_until__gt=now)
    held = dict(live.order_by().values_list("claim_holder").annotate(number=Count("pk")))
    done = {person: figures for person, *figures in worked}
    known = User.objects.in_bulk({*held, *done})
    loads = [Load(str(person), held.get(pk, 0), *done.get(pk, (0, 0, 0))) for pk, person in known.items()]
    return sorted(loads, key=lambda load: (-load.held, -load.decided, load.name))


def _rows(file: str, queue: Queue, **values: Any) -> list[tuple[Any, ...]]:
    text = names.SQL(sql.read(_SQL / file)).format(items=names.Identifier(queue.model._meta.db_table))
    with connection.cursor() as cursor:
        cursor.execute(text, {"tenant": scope.current().pk, "open": list(queue.model.OPEN), **values})
        return cursor.fetchall()
