"""Keep the due time that stands beside each item right, whatever it depends on changes.

A hash of all that it was worked out from (the item's instants and pauses, the queue's clocks, the calendar)
stands beside it, so a due time that is out of date is found by one comparison in the database, and nothing
else is read or written. Whoever changes an instant calls `keep` in the same transaction; a change of the
calendar, or of the clocks by a new release, is made good in batches in the background.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from django.db import connection
from django.db.models import BigIntegerField as Big
from django.db.models import BooleanField, Case, F, Q, TextField, Value, When
from psycopg import sql as names

from backoffice import commands, sql
from backoffice.commands import Actor, Outcome, command
from backoffice.tenants import scope
from queues import calendars, due_rules, scoring
from queues.base import Queue, queues
from queues.due_rules import Due, Instants, Within
from queues.models.item import open_items
from queues.sources import Written
from queues.working_time import Calendar

BATCH = 2_000  # a due time that changes moves in every index: 10,000 of them held up a person's act for a second
_SQL = Path(__file__).parent / "sql"


def rework(
    *,
    actor: Actor,
    queue: str,
    key: str,
    guard: Callable[[], None] | None = None,
    watch: Callable[[], None] = lambda: None,
) -> int:
    """Work out the due times of the queue's open items, a command a batch; return how many were written."""
    listed = queues.get(queue)
    if not listed.due:
        return 0
    changed = 0
    for first, last in stale_ranges(listed):
        watch()
        named = {"queue": queue, "first": first, "last": last}
        outcome = commands.dispatch(rework_batch, actor=actor, key=f"{key}:{first}-{last}", guard=guard, **named)
        changed += outcome.data["changed"]
    return changed


def stale_ranges(listed: Queue) -> list[tuple[int, int]]:
    """Return the ranges of keys of the open items whose due time is out of date, about BATCH of them in each."""
    if not listed.due:
        return []
    return scoring.ranges(listed, due=_stale(listed, calendars.current()), batch=BATCH)


@command("queue.due-times", systems=("schedules", "shell", "queues"))
def rework_batch(*, actor: Actor, queue: str, first: int, last: int) -> Outcome:
    """Work out again what is out of date among the open items of one range of keys."""
    changed = keep(queues.get(queue), first=first, last=last)
    return Outcome(target=f"queue:{queue}", data={"changed": changed})


def keep(listed: Queue, *, first: int, last: int) -> int:
    """Work out the due times from `first` to `last` inside the caller's transaction; return how many were written."""
    if not listed.due:
        return 0
    calendar = calendars.current()
    rows = listed.model.objects.filter(open_items(listed.model), pk__gte=first, pk__lte=last)
    fields = [field for clock in listed.due for field in (clock.after, clock.until, clock.waits) if field]
    paused = {f"paused_{number}": _holds(clock.paused) for number, clock in enumerate(listed.due)}
    # Locked, so that an instant which changes meanwhile waits and then works its due time out itself.
    chosen = (
        rows.annotate(fresh_seen=_seen(listed, calendar), **paused)
        .filter(_stale(listed, calendar))
        .order_by("pk")
        .select_for_update(no_key=True)
        .values_list("pk", "fresh_seen", *paused, *dict.fromkeys(fields), named=True)
    )
    ids, ats, reasons, seens = [], [], [], []
    known: dict[Any, Due] = {}
    for row in chosen:
        read = [_instants(clock, row, getattr(row, f"paused_{number}")) for number, clock in enumerate(listed.due)]
        # Many items of one file share their instants.
        same = tuple((one.started, one.stopped, one.paused, str(one.waits or "")) for one in read)
        found = known.get(same)
        if found is None:
            found = known[same] = due_rules.due(listed.due, calendar, read)
        ids.append(row.pk)
        ats.append(found.at)
        reasons.append(found.reason)
        seens.append(row.fresh_seen)
    if ids:
        _write(listed, ids=ids, ats=ats, reasons=reasons, seens=seens)
    return len(ids)


@dataclass(frozen=True)
class Arriving:
    """The due times of items that arrive at known instants, and the text that `due_seen` hashes with each instant."""

    starts: list[datetime]
    ats: list[datetime | None]
    reasons: list[str]
    digest: str


def arriving(listed: Queue, starts: Iterable[datetime]) -> Arriving:
    """Work out the due times of items that nothing has happened to yet, one for each distinct instant of opening."""
    calendar, known = calendars.current(), sorted(set(starts))
    begun = [[Instants(start if clock.after == "opened_at" else None) for clock in listed.due] for start in known]
    found = [due_rules.due(listed.due, calendar, read) for read in begun]
    return Arriving(known, [one.at for one in found], [one.reason for one in found], _digest(listed, calendar))


def keep_one(listed: Queue, item_id: int) -> None:
    """Work out the due time of one item whose instants changed, inside the caller's transaction."""
    keep(listed, first=item_id, last=item_id)


def instants(listed: Queue, item: Any) -> list[Instants]:
    """Read what each clock of the queue needs of an item of the open tenant."""
    paused = {f"paused_{number}": _holds(clock.paused) for number, clock in enumerate(listed.due)}
    row = listed.model.objects.filter(pk=item.pk).annotate(**paused).values_list(*paused, named=True).first()
    return [
        _instants(clock, item, bool(row and getattr(row, f"paused_{number}")))
        for number, clock in enumerate(listed.due)
    ]


def _instants(clock: Within, row: Any, paused: bool) -> Instants:
    return Instants(
        started=getattr(row, clock.after),
        stopped=getattr(row, clock.until) if clock.until else None,
        paused=paused,
        waits=read_waits(getattr(row, clock.waits)) if clock.waits else (),
    )


def read_waits(stored: Sequence[Sequence[str]]) -> list[tuple[datetime, datetime]]:
    """Return the ended pauses from what is stored of them."""
    return [(datetime.fromisoformat(first), datetime.fromisoformat(last)) for first, last in stored]


def _write(listed: Queue, **columns: list[Any]) -> None:
    text = names.SQL(sql.read(_SQL / "due_times.sql")).format(items=names.Identifier(listed.model._meta.db_table))
    with connection.cursor() as cursor:
        many = len(columns["ids"]) > 1
        if many:  # a table that was just filled looks like one row to the planner
            cursor.execute("SET LOCAL enable_nestloop = off")
        cursor.execute(text, {**columns, "tenant": scope.current().pk})
        if many:
            cursor.execute("SET LOCAL enable_nestloop = on")


def _stale(listed: Queue, calendar: Calendar) -> Written:
    """Return the condition of an item whose due time is out of date."""
    return Written("{0} IS DISTINCT FROM {1}", F("due_seen"), _seen(listed, calendar), output_field=BooleanField())


def _seen(listed: Queue, calendar: Calendar) -> Written:
    """Return a hash of all that a due time is worked out from: while it stays, so does the due time."""
    read: list[Any] = [Value(_digest(listed, calendar), TextField())]
    for clock in listed.due:
        read += [F(name) for name in clock.fields]
        read += [_holds(clock.paused)] if clock.paused is not None else []
    places = ", ".join(f"{{{place}}}" for place in range(1, len(read)))
    return Written(f"hash_record_extended(ROW({{0}}::text, {places}), 0)", *read, output_field=Big())


def _digest(listed: Queue, calendar: Calendar) -> str:
    clocks = [(clock.name, clock.hours, clock.after, clock.until, clock.waits) for clock in listed.due]
    return calendars.digest(calendar, clocks)


def _holds(condition: Q | None) -> Case | Value:
    if condition is None:
        return Value(False, BooleanField())
    return Case(When(condition, then=Value(True)), default=Value(False), output_field=BooleanField())
