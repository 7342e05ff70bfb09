"""What a supervisor looks at: how a queue stands, what came and went, how long it took, who carries it.

Counts of what stands now are read along an index and stop at `CAP`; a cap that is met is said on the page.
Free, held and snoozed add up to the open items, which are the sum of the ages. The past comes from the
tallies of the quarters of an hour that are over (queues/tallying.py) and, since the last of them, from the
audit events themselves: it is true up to this moment, however far the tallies are, and only slower without.
"""

from __future__ import annotations

import math
from collections import Counter
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
from queues import listing, sharing, tallying
from queues.base import ClaimMode, Queue
from queues.models import QueueItem
from queues.models.item import open_items

CAP = 100_000
HOURS = 48
SOON = timedelta(minutes=15)
LISTED = 20
SHARES = (0.5, 0.9, 0.99)

_SQL = Path(__file__).parent / "sql"


@dataclass(frozen=True)
class Standing:
    """How the queue stands at one instant. `ages` are open items by age, the youngest first."""

    ages: list[listing.Count]
    open: listing.Count
    held: listing.Count
    snoozed: listing.Count
    free: listing.Count
    unscored: listing.Count
    overdue: listing.Count
    due_soon: listing.Count
    oldest: datetime | None
    as_of: datetime


@dataclass(frozen=True)
class Load:
    """What one person carries: held now, and what became of their holds within the window."""

    name: str
    away: bool
    held: int
    claimed: int
    skipped: int
    lapsed: int
    decided: int


@dataclass(frozen=True)
class Past:
    """What happened within the window. Up to `tallied_to` it is counted once and kept, after that read anew.

    `counts["lapsed"]` are the holds that lapsed, each once: those already ended, in the window, and the
    `unswept` ones that nobody has ended yet. `times` are percentiles, at most 2.2 % too long.
    """

    since: datetime
    tallied_to: datetime
    unswept: int
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
    ages, held, snoozed, unscored, overdue, soon, oldest, as_of = _rows("overview_now.sql", queue, cap=CAP)[0]
    counts = [listing.Count(min(number, CAP), number > CAP) for number in ages]
    whole = listing.Count(sum(one.number for one in counts), any(one.capped for one in counts))
    kept = [listing.Count(min(number, CAP), number > CAP) for number in (held, snoozed, unscored, overdue, soon)]
    free = listing.Count(
        max(0, whole.number - kept[0].number - kept[1].number), whole.capped or kept[0].capped or kept[1].capped
    )
    return Standing(counts, whole, kept[0], kept[1], free, kept[2], kept[3], kept[4], oldest, as_of)


def past(*, queue: Queue, now: datetime) -> Past:
    """Read the last `HOURS` hours, by the hours of the tenant's zone."""
    zone = ZoneInfo(scope.current().time_zone)
    last = now.astimezone(zone).replace(minute=0, second=0, microsecond=0)
    hours = [last.astimezone(UTC) - timedelta(hours=back) for back in reversed(range(HOURS))]
    tallied = tallying.tallied_to(queue=queue, since=hours[0])
    quarters = tallying.kept(queue=queue, since=hours[0])
    quarters += tallying.counted(queue=queue, since=tallied, before=now + timedelta(seconds=1))
    counts: Counter[str] = Counter()
    people: dict[int, Counter[str]] = {}
    waits: dict[str, Counter[int]] = {}
    by_hour: dict[datetime, Counter[str]] = {hour: Counter() for hour in hours}
    for quarter, figures in quarters:
        counts.update(figures.get("counts", {}))
        by_hour[_hour_of(quarter, zone)].update(figures.get("counts", {}))
        for person, did in figures.get("people", {}).items():
            people.setdefault(int(person), Counter()).update(did)
        for what, steps in figures.get("waits", {}).items():
            waits.setdefault(what, Counter()).update({int(step): number for step, number in steps.items()})
    live = queue.model.objects.filter(open_items(queue.model), claim_holder__isnull=False)
    unswept = Counter(live.filter(lease_until__lte=now).values_list("claim_holder", flat=True)[:CAP])
    counts["lapsed"] += unswept.total()
    for person, number in unswept.items():
        people.setdefault(person, Counter())["lapsed"] += number
    return Past(
        since=hours[0],
        tallied_to=tallied,
        unswept=unswept.total(),
        counts=+counts,
        times={what: _percentiles(steps) for what, steps in waits.items()},
        hours=[(hour, by_hour[hour]["arrived"], by_hour[hour]["decided"]) for hour in hours],
        people=_people(queue, people, now),
    )


def lapsing(*, queue: Queue, now: datetime) -> list[QueueItem]:
    """Return the held items whose lease ends soon, the first to end first."""
    rows = queue.model.objects.filter(open_items(queue.model), claim_holder__isnull=False)
    rows = rows.filter(lease_until__gt=now, lease_until__lte=now + SOON).select_related("claim_holder")
    return list(rows.order_by("lease_until")[:LISTED])


def _people(queue: Queue, worked: dict[int, Counter[str]], now: datetime) -> list[Load]:
    live = queue.model.objects.filter(open_items(queue.model), claim_holder__isnull=False, lease_until__gt=now)
    held = dict(live.order_by().values_list("claim_holder").annotate(number=Count("pk")))
    known = User.objects.in_bulk({*held, *worked})
    absent = sharing.away() if queue.claims.mode is not ClaimMode.DISABLED else {}
    loads = [
        Load(
            name=str(person),
            away=pk in absent,
            held=held.get(pk, 0),
            **{what: worked.get(pk, Counter())[what] for what in ("claimed", "skipped", "lapsed", "decided")},
        )
        for pk, person in known.items()
    ]
    return sorted(loads, key=lambda load: (-load.held, -load.decided, load.name))


def _percentiles(steps: Counter[int]) -> list[timedelta]:
    """Return the duration within which a half, 90 % and 99 % lay, each the longest of its step."""
    total, passed = steps.total(), 0
    found: list[timedelta] = []
    wanted = [math.ceil(total * share) for share in SHARES]
    for step in sorted(steps):
        passed += steps[step]
        while len(found) < len(wanted) and passed >= wanted[len(found)]:
            found.append(tallying.longest(step))
    return found


def _hour_of(quarter: datetime, zone: ZoneInfo) -> datetime:
    """Return the hour of the zone that a quarter of an hour lies in, as an instant."""
    local = quarter.astimezone(zone)
    return quarter.astimezone(UTC) - timedelta(minutes=local.minute)


def _rows(file: str, queue: Queue, **values: Any) -> list[tuple[Any, ...]]:
    text = names.SQL(sql.read(_SQL / file)).format(items=names.Identifier(queue.model._meta.db_table))
    with connection.cursor() as cursor:
        cursor.execute(text, {"tenant": scope.current().pk, "open": list(queue.model.OPEN), **values})
        return cursor.fetchall()
