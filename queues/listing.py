"""Read a queue: filtered, in list order, paged by key, counted up to a cap.

A page is found from the last row of the one before, through the list's index, so the thousandth page
costs what the first does. The order has three stretches (equal score, lower score, no score); each is
one range of the index, and a page asks for the next stretch only while it is not full.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.db import connection
from django.db.models import Q, QuerySet
from django.utils.formats import number_format
from psycopg import sql as names

from backoffice import sql
from backoffice.tenants import scope
from backoffice.tenants.models import User
from queues import clocks, due_filter, finding, ordering
from queues.base import Queue
from queues.models import QueueItem
from queues.models.item import open_items

PAGE = 50
COUNT_CAP = 10_000
_KNOWN = 40
_SQL = Path(__file__).parent / "sql"


@dataclass(frozen=True)
class Page:
    """One page: its items in list order, the keys of its neighbours ("" where there is none), its instant."""

    items: list[QueueItem]
    after: str
    before: str
    as_of: datetime
    search: finding.Search | None = None  # what it looked for; a count of the same list need not look again


@dataclass(frozen=True)
class Count:
    """A count that stops at a cap and says so: "10,000+"."""

    number: int
    capped: bool

    def __str__(self) -> str:
        return number_format(self.number, decimal_pos=0, force_grouping=True) + ("+" if self.capped else "")


def matching(*, queue: Queue, filters: Mapping[str, str], person: User | None = None) -> QuerySet[QueueItem]:
    """Return the items that the filters let through, unordered.

    Known filters are the queue's own, `q` (search), `claim` ("mine", "held", "free", "snoozed") and `due`
    (queues/due_filter.py); others are ignored. Without `state` these are the open items.
    """
    rows = _plain(queue, filters, person)
    text = _searched(filters)
    return rows.filter(finding.condition(queue=queue, text=text)) if text else rows


def _plain(queue: Queue, filters: Mapping[str, str], person: User | None) -> QuerySet[QueueItem]:
    """Return what the filters but the search let through."""
    wanted = {name: _clean(value) for name, value in filters.items() if value}
    rows: QuerySet[QueueItem] = queue.model.objects.all()
    if "state" not in wanted or "state" not in queue.filters:
        rows = rows.filter(open_items(queue.model))
    rows = rows.filter(**{name: value for name, value in wanted.items() if name in queue.filters})
    if person is not None and wanted.get("claim") in _CLAIMS:
        rows = rows.filter(_CLAIMS[wanted["claim"]](person, clocks.database_now()))
    if wanted.get(due_filter.NAME):
        rows = rows.filter(due_filter.condition(queue, wanted[due_filter.NAME], now=clocks.database_now()))
    return rows


def _searched(filters: Mapping[str, str]) -> str:
    return _clean(filters.get("q", ""))


def _clean(value: str) -> str:
    return value.replace("\x00", "").strip()[:200]


_CLAIMS = {
    "mine": lambda person, now: Q(claim_holder=person, lease_until__gt=now),
    "held": lambda person, now: Q(claim_holder__isnull=False, lease_until__gt=now),
    "free": lambda person, now: (
        (Q(claim_holder__isnull=True) | Q(lease_until__lte=now))
        & (Q(snoozed_until__isnull=True) | Q(snoozed_until__lte=now))
    ),
    "snoozed": lambda person, now: Q(snoozed_until__gt=now),
}


def count(
    *,
    queue: Queue,
    filters: Mapping[str, str],
    person: User | None = None,
    cap: int = COUNT_CAP,
    search: finding.Search | None = None,
) -> Count:
    """Count what matches, up to the cap; `search` is what a page of the same list has looked for."""
    rows = _plain(queue, filters, person)
    if text := _searched(filters):
        return Count(*finding.count(rows=rows, search=search or finding.Search(queue, text), cap=cap))
    number = rows[: cap + 1].count()
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
    rows = _plain(queue, filters, person).prefetch_related("claim_holder")
    search = finding.Search(queue, text) if (text := _searched(filters)) else None
    order = ordering.of(filters)
    key = order.read_key(after or before)
    back = bool(before and not after and key)
    found = _take(rows, order, key, size + 1, back=back, search=search)
    more = len(found) > size
    items = list(reversed(found[:size])) if back else found[:size]
    return Page(
        items=items,
        after=order.write_key(items[-1]) if items and (more or back) else "",
        before=order.write_key(items[0]) if items and (more if back else key is not None) else "",
        as_of=clocks.database_now(),
        search=search,
    )


def _take(
    rows: QuerySet[QueueItem],
    order: ordering.Order,
    key: ordering.Key | None,
    wanted: int,
    *,
    back: bool,
    search: finding.Search | None,
) -> list[QueueItem]:
    sorting = order.back if back else order.along
    stretches = order.stretches(key, back=back)
    if search is not None:
        return finding.take(rows=rows, stretches=stretches, order=sorting, search=search, wanted=wanted)
    found: dict[int, QueueItem] = {}
    for stretch in stretches:
        for item in rows.filter(stretch).order_by(*sorting)[: wanted - len(found)]:
            found.setdefault(item.pk, item)
        if len(found) >= wanted:
            break
    return list(found.values())
