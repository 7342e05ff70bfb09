"""What the page of a queue shows: filters that live in the address, rows, honest counts, its freshness."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.db import models
from django.urls import reverse
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from backoffice import livesettings
from backoffice.pages import new_key
from backoffice.templatetags.show import span
from backoffice.tenants.models import User
from queues import due_filter, due_words, listing, masking, ordering, score_page, scoring, showing
from queues.base import Bounded, ClaimMode, Queue
from queues.models import QueueItem
from queues.money.base import actions

LONGEST = 100
FILTERED_CAP = 1_000
PAYABLE = "approved"  # the state in which an item can enter a plan


@dataclass(frozen=True)
class Option:
    """One choice of a filter."""

    value: str
    label: str
    selected: bool


@dataclass(frozen=True)
class Filter:
    """One filter: a closed choice, or free with suggestions where its field has no choices."""

    name: str
    label: str
    value: str
    options: list[Option]
    closed: bool


@dataclass(frozen=True)
class Row:
    """One item in the list."""

    item: QueueItem
    url: str
    claim_url: str
    key: str
    cells: list[showing.Cell]
    sentence: str
    score_class: str
    by_hand: str
    due: due_words.Due | None
    held: bool
    mine: bool
    asleep: bool
    holder: str
    claimable: bool


def filters_of(*, queue: Queue, query: Mapping[str, str]) -> dict[str, str]:
    """Return the address's known filters that say something, cleaned and bounded."""
    wanted: dict[str, str] = {}
    for name in ("q", *queue.filters, "claim", *_due_parts(queue)):
        text = query.get(name, "").replace("\x00", "").strip()[:LONGEST]
        if text and text in _due_parts(queue).get(name, (text,)):
            wanted[name] = text.upper() if _is_code(queue, name) else text
    return wanted


def _due_parts(queue: Queue) -> dict[str, tuple[str, ...]]:
    """Return the parts of the address that are about due times, with the values that they may have."""
    if not queue.due:
        return {}
    return {due_filter.NAME: (*due_filter.TIMED, due_filter.NONE), ordering.SORT: ("due",)}


def chosen_columns(*, queue: Queue, query: Mapping[str, str]) -> list[str]:
    """Return the columns that the address chooses, in the order in which they stand; none for the queue's own."""
    asked = query.getlist("cols") if isinstance(query, MultiValueDict) else [query.get("cols", "")]
    chosen = [name for name in offered_columns(queue) if name in asked]
    return [] if chosen == list(queue.columns) else chosen


def offered_columns(queue: Queue) -> list[str]:
    """Return the fields that can be columns: the queue's own first, then what else people decide by."""
    return [*queue.columns, *(name for name in showing.fact_names(queue.model) if name not in queue.columns)]


def suffix(*, queue: Queue, query: Mapping[str, str]) -> str:
    """Return the filters and columns as the end of an address: "?state=approved&q=smith", or nothing."""
    wanted = _address(filters_of(queue=queue, query=query), chosen_columns(queue=queue, query=query))
    return f"?{urlencode(wanted)}" if wanted else ""


def _address(wanted: dict[str, str], columns: list[str]) -> list[tuple[str, str]]:
    return [*wanted.items(), *(("cols", name) for name in columns)]


def context(*, queue: Queue, person: User, query: Mapping[str, str], works: bool) -> dict[str, Any]:
    """Return everything the list's template shows."""
    wanted = filters_of(queue=queue, query=query)
    page = listing.page(
        queue=queue,
        filters=wanted,
        person=person,
        after=query.get("after", "")[: LONGEST * 3],
        before=query.get("before", "")[: LONGEST * 3],
    )
    count = _count(queue, wanted, person, page)
    chosen = chosen_columns(queue=queue, query=query)
    columns = _with_the_link(queue, chosen or list(queue.columns))
    tail = suffix(queue=queue, query=query)
    stale_days = livesettings.get("queues.rate_days") if queue.rule else 0
    return {
        "queue": queue,
        "title": str(queue.title),
        "works": works,
        "claims": queue.claims.mode is not ClaimMode.DISABLED,
        "scored": queue.rule is not None,
        "suffix": tail,
        "now": page.as_of,
        "query": wanted.get("q", ""),
        "search_hint": " · ".join(showing.label(queue.model, name).lower() for name in queue.search),
        "filters": _filters(queue, wanted),
        "filtered": bool(wanted.keys() - {ordering.SORT}),
        "timed": bool(queue.due),
        "by_due": ordering.of(wanted) is ordering.BY_DUE,
        "columns": [_heading(queue, name) for name in columns],
        "column_choice": [
            {**_heading(queue, name), "chosen": name in columns, "fixed": name == columns[0]}
            for name in offered_columns(queue)
        ],
        "own_columns": chosen,
        "rows": [_row(queue, item, person, page.as_of, tail, works, columns, stale_days) for item in page.items],
        "count_text": str(count),
        "found": _found(queue, wanted, count),
        "freshness": _freshness(queue),
        "previous_url": _turn(queue, wanted, chosen, before=page.before),
        "next_url": _turn(queue, wanted, chosen, after=page.after),
        "carried": list(wanted.items()),
        **_selecting(queue, person, wanted, works),
        **({} if page.items else _empty(queue, wanted)),
    }


def _count(queue: Queue, wanted: dict[str, str], person: User, page: listing.Page) -> listing.Count:
    """Count what matches. A list of one page is its own count; a filter that has no index counts less far."""
    if not page.after and not page.before:
        return listing.Count(len(page.items), capped=False)
    indexed = {"state", due_filter.NAME, ordering.SORT}
    cap = listing.COUNT_CAP if set(wanted) <= indexed else FILTERED_CAP
    return listing.count(queue=queue, filters=wanted, person=person, cap=cap, search=page.search)


def _is_code(queue: Queue, name: str) -> bool:
    """Say whether the filter is over a short code ("EUR", "GB"), which people type in any case."""
    if name not in queue.filters:
        return False
    field = queue.model._meta.get_field(name)
    return isinstance(field, models.CharField) and not field.choices and (field.max_length or 99) <= 3


def _filters(queue: Queue, wanted: dict[str, str]) -> list[Filter]:
    found = [_filter(queue, name, wanted.get(name, "")) for name in queue.filters]
    if queue.due:
        found.append(_closed(due_filter.NAME, _("Due"), [("", _("Any")), *due_filter.choices()], wanted))
        # What is filtered by its due time stands in that order, whatever is chosen here.
        sorts = [("", _("Score") if queue.rule else _("Oldest first")), ("due", _("Due time"))]
        shown = {ordering.SORT: "due"} if ordering.of(wanted) is ordering.BY_DUE else {}
        found.append(_closed(ordering.SORT, _("Order"), sorts, shown))
    if queue.claims.mode is not ClaimMode.DISABLED:
        choices = [("", _("Any")), ("free", _("Free")), ("held", _("Held")), ("mine", _("Held by me"))]
        choices.append(("snoozed", _("Snoozed")))
        found.append(_closed("claim", _("Claim"), choices, wanted))
    return found


def _closed(name: str, label: str, choices: list[tuple[str, str]], wanted: Mapping[str, str]) -> Filter:
    value = wanted.get(name, "")
    return Filter(name, label, value, [Option(one, words, one == value) for one, words in choices], closed=True)


def _filter(queue: Queue, name: str, value: str) -> Filter:
    field = queue.model._meta.get_field(name)
    label = showing.label(queue.model, name)
    choices = list(getattr(field, "flatchoices", None) or [])
    if not choices:
        known = listing.known_values(queue=queue, name=name)
        return Filter(name, label, value, [Option(one, one, False) for one in known], closed=False)
    first = _("Any")
    if name == "state":
        first = _("Waiting")
        choices = [pair for pair in choices if len(queue.model.OPEN) > 1 or pair[0] not in queue.model.OPEN]
    options = [Option("", first, not value)]
    options += [Option(str(one), str(words), str(one) == value) for one, words in choices]
    if value and not any(option.selected for option in options):
        options.append(Option(value, value, True))  # the address asks for it, so the page says so
    return Filter(name, label, value, options, closed=True)


def _heading(queue: Queue, name: str) -> dict[str, str]:
    return {"name": name, "label": showing.label(queue.model, name), "kind": showing.kind(queue.model, name)}


def _with_the_link(queue: Queue, columns: list[str]) -> list[str]:
    """Put the queue's first column, which opens the item, before what was chosen."""
    first = queue.columns[0]
    return [first, *(name for name in columns if name != first)]


def _row(
    queue: Queue,
    item: QueueItem,
    person: User,
    now: datetime,
    tail: str,
    works: bool,
    columns: list[str],
    stale_days: int,
) -> Row:
    held = item.held_at(now)
    most = queue.rule.most if queue.rule else 0
    return Row(
        item=item,
        url=reverse("item", args=[queue.name, item.pk]) + tail,
        claim_url=reverse("item-claim", args=[queue.name, item.pk]) + tail,
        key=new_key(),
        cells=masking.cells(queue, item, columns, person=person),
        sentence=scoring.explain(item, now=now, stale_days=stale_days).sentence
        if most and item.score is not None
        else "",
        score_class=showing.score_class(item.score, most),
        by_hand=score_page.by_hand(item, now=now),
        due=due_words.due(queue, item, now=now),
        held=held,
        mine=held and item.claim_holder_id == person.pk,
        asleep=item.is_open and not held and item.snoozed_until is not None and item.snoozed_until > now,
        holder=str(item.claim_holder) if held else "",
        claimable=works and item.is_open and not held,
    )


def _found(queue: Queue, wanted: dict[str, str], count: listing.Count) -> str:
    if wanted.keys() - {ordering.SORT}:
        return ngettext("%(count)s match", "%(count)s match", count.number) % {"count": count}
    return ngettext("%(count)s waiting", "%(count)s waiting", count.number) % {"count": count}


def _freshness(queue: Queue) -> str:
    if isinstance(queue.freshness, Bounded):
        return _("At most %(span)s behind its source") % {"span": span(queue.freshness.within)}
    return str(queue.freshness.note).rstrip(".") if queue.freshness else ""


def _turn(queue: Queue, wanted: dict[str, str], columns: list[str], **key: str) -> str:
    if not any(key.values()):
        return ""
    return f"{reverse('queue', args=[queue.name])}?{urlencode([*_address(wanted, columns), *key.items()])}"


def _selecting(queue: Queue, person: User, wanted: dict[str, str], works: bool) -> dict[str, Any]:
    """Offer boxes to those who can do something with many items at once."""
    planning = _planning(queue, person, wanted)
    bulk = works and wanted.get("state", "") in {"", *queue.model.OPEN}
    return {**planning, "bulk": bulk, "selectable": bulk or bool(planning.get("plannable"))}


def _planning(queue: Queue, person: User, wanted: dict[str, str]) -> dict[str, Any]:
    """Offer to plan a bulk money action over what is approved, to those who may; others never see its boxes."""
    for action in actions:
        if action.model is queue.model and person.has_perm(action.plan_permission):
            return {"money_action": action, "plannable": wanted.get("state") == PAYABLE}
    return {}


def _empty(queue: Queue, wanted: dict[str, str]) -> dict[str, str]:
    if not wanted.keys() - {ordering.SORT}:
        return {
            "empty_title": _("Nothing is waiting"),
            "empty_words": _("Every item of this queue is decided. New ones appear here when they arrive."),
        }
    waiting = listing.count(queue=queue, filters={})
    return {
        "empty_title": _("Nothing matches"),
        "empty_words": ngettext(
            "In the whole queue %(count)s item is waiting.",
            "In the whole queue %(count)s items are waiting.",
            waiting.number,
        )
        % {"count": waiting},
    }
