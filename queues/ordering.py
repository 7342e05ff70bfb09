"""The two orders of a list, by score and by due time: how they sort, and the keys by which they are paged.

Each has one field, then the oldest, then the id, and one index that runs so. It has three stretches: the
field's value equal, further on, and none; each is one range of the index.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import F, Q
from psycopg import sql as names

from queues import due_filter
from queues.models import QueueItem
from queues.models.item import due_order, list_order

SORT = "sort"  # the part of a list's address that names its order
Key = tuple[Any, datetime, int]


@dataclass(frozen=True)
class Order:
    """One order. `along` and `back` sort by it; `rises` says that its field grows along the list.

    `sql` is the order for a statement of our own; `aside` the same, spelled so that no index offers it.
    """

    field: str
    rises: bool
    along: list[Any]
    back: list[Any]
    sql: names.SQL
    aside: names.SQL
    read: Callable[[Any], Any]

    def stretches(self, key: Key | None, *, back: bool) -> Iterator[Q]:
        """Yield the ranges of the index that follow, or precede, the key; each in this order."""
        if key is None:
            yield Q()
            return
        value, opened_at, pk = key
        side, edge = ("lt", "lte") if back else ("gt", "gte")
        ties = Q(**{f"opened_at__{edge}": opened_at}) & (
            Q(**{f"opened_at__{side}": opened_at}) | Q(**{f"id__{side}": pk})
        )
        if value is None:
            yield Q(**{f"{self.field}__isnull": True}) & ties
            if back:
                yield Q(**{f"{self.field}__isnull": False})
            return
        yield Q(**{self.field: value}) & ties
        yield Q(**{f"{self.field}__{'gt' if self.rises is not back else 'lt'}": value})
        if not back:
            yield Q(**{f"{self.field}__isnull": True})

    def write_key(self, item: QueueItem) -> str:
        """Write where the item stands, for an address."""
        value = getattr(item, self.field)
        plain = json.dumps(
            [value.isoformat() if isinstance(value, datetime) else value, item.opened_at.isoformat(), item.pk]
        )
        return base64.urlsafe_b64encode(plain.encode()).decode().rstrip("=")

    def read_key(self, text: str) -> Key | None:
        """Read a key from an address; None for one that nobody could have been given."""
        try:
            value, opened_at, pk = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
            return (None if value is None else self.read(value)), _instant(opened_at), _whole(pk)
        except (ValueError, TypeError):
            return None


def of(filters: Mapping[str, str]) -> Order:
    """Return the order of a list under these filters: by due time where they ask for it, or for what is due soon."""
    by_due = filters.get(SORT) == "due" or filters.get(due_filter.NAME) in due_filter.TIMED
    return BY_DUE if by_due else BY_SCORE


def _whole(number: Any) -> int:
    if not isinstance(number, int) or isinstance(number, bool) or not -(2**31) <= number < 2**63:
        raise ValueError(number)
    return number


def _instant(text: Any) -> datetime:
    found = datetime.fromisoformat(text)
    if found.tzinfo is None:
        raise ValueError(text)
    return found


BY_SCORE = Order(
    field="score",
    rises=False,
    along=list_order(),
    back=[F("score").asc(nulls_first=True), "-opened_at", "-id"],
    sql=names.SQL("score DESC NULLS LAST, opened_at, id"),
    aside=names.SQL("score + 0 DESC NULLS LAST, opened_at, id"),
    read=_whole,
)
BY_DUE = Order(
    field="due_at",
    rises=True,
    along=due_order(),
    back=[F("due_at").desc(nulls_first=True), "-opened_at", "-id"],
    sql=names.SQL("due_at NULLS LAST, opened_at, id"),
    aside=names.SQL("due_at + interval '0' NULLS LAST, opened_at, id"),
    read=_instant,
)
