"""Read a queue's items that a search finds, in list order, without walking further than it must.

Every word that is typed must be in the reference or in the party, or be the amount; accents and case do
not matter. A common word fills a page from the next few hundred items of the list; a rare one is found by
the index of its trigrams first; one between them is looked for along the list.

- `NEAR`  items of the list that a page looks at before it asks the index
- `FEW`   matches up to which the index answers; with more, walking the list costs less
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, reduce
from operator import and_, or_
from typing import Any

from django.db import connection
from django.db.models import BooleanField, Case, ExpressionWrapper, F, Func, Q, QuerySet, TextField, Value, When
from django.db.models.lookups import IContains

from queues.base import Queue
from queues.models import QueueItem
from queues.models.item import list_order, open_items
from queues.models.search import OddCharacters, SearchText
from queues.searching import read_amount

NEAR = 500
FEW = 5_000
COUNTED = 2_000  # items of the list that a count looks at before it asks the index
_COMMON = 20  # one in so many is common: walking finds a page in a thousand items
_WORDS = 8

_RUN = re.compile(r"[^\W_]{3}")
_ODD = re.compile(r"[^A-Za-z0-9\s]")


@dataclass(frozen=True)
class Search:
    """One text looked for in one queue."""

    queue: Queue
    text: str

    @cached_property
    def words(self) -> list[str]:
        """The words of the text as the index holds them: without accents."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT unaccent(%s)", [unicodedata.normalize("NFKC", self.text)])
            (folded,) = cursor.fetchone() or ("",)
        return list(dict.fromkeys(folded.split()))[:_WORDS] or [self.text]

    @cached_property
    def along(self) -> Q:
        """The condition over an item's own columns: what a walk along the list looks at."""
        named = Func(Value(" "), Value(""), *map(F, self.queue.search), function="concat_ws", output_field=TextField())
        words = Func(named, function="unaccent", output_field=TextField())
        asked = self._asked(lambda word: Q(IContains(words, _beginning(word))))
        # A CASE, for which the planner expects every second row: it walks the list's index then, while what it
        # guesses of a LIKE lets it read and sort the whole table.
        return Q(Case(When(asked, then=Value(True)), default=Value(False), output_field=BooleanField()))

    @cached_property
    def few(self) -> list[int] | None:
        """The ids of the items that the index finds, whatever their state; None when they are more than FEW."""
        found = SearchText.objects.filter(self._asked(_by_index), kind=self.queue.model._meta.model_name)
        # As a part of its own, since a LIMIT lets the planner hope that the first rows of the table match.
        text, values = found.values("item_id").query.sql_with_params()
        with connection.cursor() as cursor:
            cursor.execute(f"WITH found AS MATERIALIZED ({text}) SELECT item_id FROM found LIMIT {FEW + 1}", values)
            ids = [item_id for (item_id,) in cursor.fetchall()]
        return ids if len(ids) <= FEW else None

    def _asked(self, contains: Callable[[str], Q]) -> Q:
        asked = reduce(and_, (contains(word) | self._paid(*read_amount(word)) for word in self.words))
        return asked | self._paid(*read_amount(self.text)) if len(self.words) > 1 else asked

    def _paid(self, amounts: list[Decimal], currency: str) -> Q:
        if not amounts or not any(field.name == "amount" for field in self.queue.model._meta.fields):
            return Q()
        paid = Q(amount__in=amounts)
        return paid & Q(currency=currency) if currency else paid


def condition(*, queue: Queue, text: str) -> Q:
    """Return the condition of the items that the text finds, for a statement that takes the first or all of them."""
    search = Search(queue, text)
    head = queue.model.objects.filter(open_items(queue.model)).order_by(*list_order())
    seen = _looked_at(head, search)[:NEAR]
    if sum(hit for _pk, hit in seen) * _COMMON >= NEAR or search.few is None:
        return search.along
    return Q(pk__in=search.few)


def take(*, rows: QuerySet[QueueItem], stretches: Iterable[Q], order: list[Any], search: Search, wanted: int) -> list:
    """Return the first items of the stretches, one after the other, that the search finds."""
    parts, ids, left = list(stretches), [], NEAR
    for part in parts:
        seen = list(_looked_at(rows.filter(part).order_by(*order), search)[:left])
        ids += [pk for pk, hit in seen if hit]
        left -= len(seen)
        if left <= 0:
            break
    if len(ids) >= wanted or left > 0:
        items = rows.in_bulk(ids[:wanted])
        return [items[pk] for pk in ids[:wanted] if pk in items]
    if search.few is not None:
        return list(rows.filter(pk__in=search.few).filter(reduce(or_, parts)).order_by(*_by_key(order))[:wanted])
    found: dict[int, QueueItem] = {}
    for part in parts:
        for item in rows.filter(part).filter(search.along).order_by(*order)[: wanted - len(found)]:
            found.setdefault(item.pk, item)
        if len(found) >= wanted:
            break
    return list(found.values())


def count(*, rows: QuerySet[QueueItem], search: Search, cap: int) -> tuple[int, bool]:
    """Count what the search finds among the rows; True says that there may be more.

    A common word is counted over the first items of the list alone: its whole count would cost more
    than the page.
    """
    most = min(cap, COUNTED)
    seen = list(_looked_at(rows.order_by(*list_order()), search)[: most + 1])
    hits = sum(hit for _pk, hit in seen[:most])
    if len(seen) <= most:
        return hits, False
    if hits * _COMMON < most and search.few is not None:
        number = rows.filter(pk__in=search.few)[: cap + 1].count()
        return min(number, cap), number > cap
    return hits, True


def _by_key(order: list[Any]) -> list[Any]:
    """Keep the order, and the planner off the list's index: it would walk all of it past a few ids at its end."""
    first = order[0].copy()
    # Of one value the greatest is itself; no index is over it.
    first.set_source_expressions([Func(first.expression, first.expression, function="GREATEST")])
    return [first, *order[1:]]


def _looked_at(rows: QuerySet[QueueItem], search: Search) -> QuerySet[Any, Any]:
    """Return each row's key, and whether the search finds it."""
    hit = ExpressionWrapper(search.along, output_field=BooleanField())
    return rows.annotate(hit=hit).values_list("pk", "hit")


def _by_index(word: str) -> Q:
    """Return the condition over the words that are kept for the search, which two indexes answer."""
    asked = Q(words__icontains=_beginning(word))
    if _ODD.search(word) and not _RUN.search(word):
        # No trigram begins here ("%", "株式", an emoji): such characters have an index of their own.
        asked &= Q(OddCharacters.within(F("words"), Value(word)))
    return asked


def _beginning(word: str) -> str:
    """Look for one or two letters or digits where a word begins; a script without spaces has no such place."""
    narrow = all(one.isalnum() and unicodedata.east_asian_width(one) not in "WF" for one in word)
    return f" {word}" if len(word) <= 2 and narrow else word
