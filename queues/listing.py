"""Read a queue: filtered, in list order, paged by key, counted up to a cap.

A page is found from the last row of the one before, through the list's index, so the thousandth page
costs what the first does. The order has three stretches (equal score, lower score, no score); each is
one range of the index, and a page asks for the next stretch only while it is not full.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from django.db import connection
from django.db.models import F, Q, QuerySet
from django.utils.formats import number_format
from psycopg import sql as names

from backoffice import sql
from backoffice.tenants import scope
from backoffice.tenants.models import User
from queues import clocks, searching
from queues.base import Queue
from queues.models import QueueItem
from queues.models.item import list_order, open_items

PAGE = 50
COUNT_CAP = 10_000
_KNOWN = 40
_SQL = Path(__file__).parent / "sql"
_LAST_FIRST = [F("score").asc(nulls_first=True), "-opened_at", "-id"]


@dataclass(frozen=True)
class Page:
    """One page: its items in list order, the keys of its neighbours ("" where there is none), its instant."""

    items: list[QueueItem]
    after: str
    before: str
    as_of: datetime


@dataclass(frozen=True)
class Count:
    """A count that stops at a cap and says so: "10,000+"."""

    number: int
    capped: bool

    def __str__(self) -> str:
        return number_format(self.number, decimal_pos=0, force_grouping=True) + ("+" if self.capped else "")


def matching(*, queue: Queue, filters: Mapping[str, str], person: User | None = None) -> QuerySet[QueueItem]:
    """Return the items that the filters let through, unordered.

    Known filters are the queue's own, `q` (search) and `claim` ("mine", "held", "free", "snoozed"); others are
    ignored. Without `state` these are the open items.
    """
    wanted = {name: value.replace("\x00", "").strip()[:200] for name, value in filters.items() if value}
    rows: QuerySet[QueueItem] = queue.model.objects.all()
    if "state" not in wanted or "state" not in queue.filters:
        rows = rows.filter(open_items(queue.model))
    rows = rows.filter(**{name: value for name, value in wanted.items() if name in queue.filters})
    if text := wanted.get("q"):
        rows = rows.filter(searching.found(model=queue.model, text=text))
    if person is not None and wanted.get("claim") in _CLAIMS:
        rows = rows.filter(_CLAIMS[wanted["claim"]](person, clocks.database_now()))
    return rows


_CLAIMS = {
    "mine": lambda person, now: Q(claim_holder=person, lease_until__gt=now),
    "held": lambda person, now: Q(claim_holder__isnull=False, lease_until__gt=now),
    "free": lambda person, now: (
        (Q(claim_holder__isnull=True) | Q(lease_until__lte=now))
        & (Q(snoozed_until__isnull=True) | Q(snoozed_until__lte=now))
    ),
    "snoozed": lambda person, now: Q(snoozed_until__gt=now),
}


def count(*, queue: Queue, filters: Mapping[str, str], person: User | None = None, cap: int = COUNT_CAP) -> Count:
    """Count what matches, up to the cap."""
    number = matching(queue=queue, filters=filters, person=person)[: cap + 1].count()
    return Count(min(number, cap), number > cap)


def known_values(*, queue: Queue, name: str) -> list[str]:
    """Return values that the field has in open items, in order: each is one step along the filter's index."""
    table = queue.model._meta.db_table
    text = names.SQL(sql.read(_SQL / "known_values.sql")).format(
        items=names.Identifier(table), field=names.Identifier(name)
    )
    with connection.cursor() as cursor:
        cursor.execute(text, {"tenant": scope.current().pk, "open": list(queue.model.OPEN), "most": _KNOWN})
        return [value for (value,) in cursor.fetchall()]


def page(
    *,
    queue: Queue,
    filters: Mapping[str, str],
    person: User | None = None,
    after: str = "",
    before: str = "",
    size: int = PAGE,
) -> Page:
    """Return the page after, or before, a key of an earlier page; the first page without a usable key."""
    # The holders come by a query of their own: a join lets a planner without fresh statistics sort the whole table.
    rows = matching(queue=queue, filters=filters, person=person).prefetch_related("claim_holder")
    key = _read_key(after or before)
    back = bool(before and not after and key)
    found = _take(rows, key, size + 1, back=back)
    more = len(found) > size
    items = list(reversed(found[:size])) if back else found[:size]
    return Page(
        items=items,
        after=_write_key(items[-1]) if items and (more or back) else "",
        before=_write_key(items[0]) if items and (more if back else key is not None) else "",
        as_of=clocks.database_now(),
    )


def _take(rows: QuerySet[QueueItem], key: _Key | None, wanted: int, *, back: bool) -> list[QueueItem]:
    order = _LAST_FIRST if back else list_order()
    found: dict[int, QueueItem] = {}
    for stretch in _stretches(key, back=back):
        for item in rows.filter(stretch).order_by(*order)[: wanted - len(found)]:
            found.setdefault(item.pk, item)
        if len(found) >= wanted:
            break
    return list(found.values())


def _stretches(key: _Key | None, *, back: bool) -> Iterator[Q]:
    """Yield the ranges of the index that follow, or precede, the key; each in list order."""
    if key is None:
        yield Q()
        return
    score, opened_at, pk = key
    side, edge = ("lt", "lte") if back else ("gt", "gte")
    ties = Q(**{f"opened_at__{edge}": opened_at}) & (Q(**{f"opened_at__{side}": opened_at}) | Q(**{f"id__{side}": pk}))
    if score is None:
        yield Q(score__isnull=True) & ties
        if back:
            yield Q(score__isnull=False)
        return
    yield Q(score=score) & ties
    if back:
        yield Q(score__gt=score)
    else:
        yield Q(score__lt=score)
        yield Q(score__isnull=True)


_Key = tuple[int | None, datetime, int]


def _write_key(item: QueueItem) -> str:
    plain = json.dumps([item.score, item.opened_at.isoformat(), item.pk])
    return base64.urlsafe_b64encode(plain.encode()).decode().rstrip("=")


def _read_key(text: str) -> _Key | None:
    """Read a key from an address; None for one that nobody could have been given."""
    try:
        plain = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        score, opened_at, pk = json.loads(plain)
        instant = datetime.fromisoformat(opened_at)
    except (ValueError, TypeError):
        return None
    if instant.tzinfo is None or not _whole(pk) or not (score is None or _whole(score)):
        return None
    return score, instant, pk


def _whole(number: Any) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and -(2**31) <= number < 2**63
