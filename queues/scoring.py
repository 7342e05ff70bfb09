"""Score items: compile a rule to one statement, write only the rows that change, say why in words.

The statement is one UPDATE over a range of keys, without a join; a row is written only where
what the rule reads of it, or the rule's version, differs from what the last scoring read: a hash of
that stands beside the score, so a row that did not change costs one comparison. Batches keep each row
lock short; time enters in whole units, so a second run at the same `now` writes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from django.db import connection
from django.db.models import (
    BigIntegerField,
    BooleanField,
    Case,
    DateTimeField,
    F,
    Func,
    JSONField,
    TextField,
    Value,
    When,
)
from django.db.models.functions import Cast
from django.utils.translation import gettext as _

from backoffice import commands, livesettings, sql
from backoffice.commands import Actor, Outcome, command
from queues import reference
from queues.base import Queue, ScoreRule, queues, rules
from queues.inputs import Input
from queues.models import QueueItem
from queues.models.item import open_items
from queues.sources import Written

BATCH = 10_000
# What the rule read of it differs, or another rule gave the score, or the score that somebody set has ended.
_DUE = (
    "({0} IS DISTINCT FROM {1} OR {2} IS DISTINCT FROM {3} OR ({4} <= {5}::timestamptz AND {6} IS DISTINCT FROM {7}))"
)
_SQL = Path(__file__).parent / "sql"


@dataclass(frozen=True)
class Row:
    """One input as the item's page shows it."""

    name: str
    words: str
    points: int
    most: int | None
    origin: str = ""
    before: str = ""


@dataclass(frozen=True)
class Explanation:
    """Why an item has its score: the sentence, the inputs, the rule with its citation and version.

    `score` is what the rule gave; an override stands apart, in the item's own fields. `changes` says
    what the last scoring that changed it changed: "age +24 → +27".
    """

    sentence: str
    rows: list[Row]
    score: int | None
    rule: str
    version: int | None
    citation: str
    scored_at: datetime | None
    changes: tuple[str, ...] = ()
    before_at: datetime | None = None


def rescore(*, actor: Actor, queue: str, now: datetime, key: str) -> int:
    """Score the queue's open items in the open tenant, a command a batch; return how many rows changed."""
    listed = queues.get(queue)
    if listed.rule is None:
        return 0
    changed = 0
    for first, last in ranges(listed, due=is_due(listed.rule, now=now)):
        outcome = commands.dispatch(
            rescore_batch,
            actor=actor,
            key=f"{key}:{first}-{last}",
            queue=queue,
            first=first,
            last=last,
            now=now.isoformat(),
        )
        changed += outcome.data["changed"]
    return changed


@command("queue.rescore", systems=("schedules", "shell", "ingest", "demo"))
def rescore_batch(*, actor: Actor, queue: str, first: int, last: int, now: str) -> Outcome:
    """Score the open items of one range of keys as of `now`."""
    listed = queues.get(queue)
    changed = score_range(listed, first=first, last=last, now=datetime.fromisoformat(now))
    return Outcome(target=f"queue:{queue}", data={"changed": changed})


def score_range(listed: Queue, *, first: int, last: int, now: datetime, decided: bool = False) -> int:
    """Score the items from `first` to `last` inside the caller's transaction; the open, or `decided` too.

    A score that somebody set stays until it ends; what the rule gives is kept beside it all the same.
    """
    rule = listed.rule
    if rule is None:
        return 0
    rows = listed.model.objects.filter(pk__gte=first, pk__lte=last)
    if not decided:
        rows = rows.filter(open_items(listed.model))
    seen, instant = _seen(rule, now), Value(now, DateTimeField())
    before = Func(
        *(Value("inputs"), F("score_inputs"), Value("version"), F("score_version"), Value("at"), F("scored_at")),
        function="jsonb_build_object",
        output_field=JSONField(),
    )
    return (
        rows.order_by()
        .filter(is_due(rule, now=now))
        .update(
            score=Case(When(override_until__gt=instant, then=F("override_score")), default=total(rule, now=now)),
            score_before=Case(
                When(scored_at__isnull=True, then=None), When(score_seen=seen, then=F("score_before")), default=before
            ),
            score_inputs=inputs_of(rule, now=now),
            score_seen=seen,
            score_rule=rule.name,
            score_version=rule.version,
            scored_at=now,
        )
    )


def is_due(rule: ScoreRule, *, now: datetime) -> Written:
    """Return the condition of an item whose score would change."""
    read = (F("score_seen"), _seen(rule, now), F("score_rule"), Value(rule.name))
    set_by_hand = (F("override_until"), Value(now, DateTimeField()), F("score"), total(rule, now=now))
    return Written(_DUE, *read, *set_by_hand, output_field=BooleanField())


def inputs_of(rule: ScoreRule, *, now: datetime) -> Func:
    """Return the rule's inputs with their values and points as one JSON expression."""
    return Func(*[_stored(one, now) for one in rule.inputs], function="jsonb_build_array", output_field=JSONField())


def total(rule: ScoreRule, *, now: datetime) -> Any:
    """Return the rule's score as an ORM expression."""
    points = [one.points_sql(now) for one in rule.inputs]
    added = points[0]
    for more in points[1:]:
        added = added + more
    return added


def _seen(rule: ScoreRule, now: datetime) -> Written:
    """Return a hash of all that the rule reads of a row, and of its version: while it stays, so does the score."""
    read: list[Any] = [Value(rule.version)]
    for one in rule.inputs:
        read.append(one.value(now))
        read += [more for more in (one.unit(), one.basis(now)) if more is not None and not isinstance(more, Value)]
    places = ", ".join(f"{{{place}}}" for place in range(1, len(read)))
    return Written(f"hash_record_extended(ROW({{0}}::int, {places}), 0)", *read, output_field=BigIntegerField())


def _stored(one: Input, now: datetime) -> Func:
    pairs: dict[str, Any] = {
        "name": Value(one.name, TextField()),
        "value": Cast(one.value(now), TextField()),
        "unit": Cast(one.unit(), TextField()),
        "points": one.points_sql(now),
    }
    if (basis := one.basis(now)) is not None:
        pairs["basis"] = basis
    arguments = [part for name, value in pairs.items() for part in (Cast(Value(name), TextField()), value)]
    return Func(*arguments, function="jsonb_build_object", output_field=JSONField())


def ranges(listed: Queue, *, due: Any = None, batch: int = BATCH) -> list[tuple[int, int]]:
    """Cut the tenant's open items, or those of them where `due` holds, into ranges of about `batch` items each.

    Looking for what is due first is one read that the database shares among its processes: where nothing
    is, no command runs at all.
    """
    rows = listed.model.objects.filter(open_items(listed.model), *([due] if due is not None else []))
    chosen, params = rows.order_by().values_list("pk").query.sql_with_params()
    statement = sql.read(_SQL / "ranges.sql").replace("/* chosen */", chosen)
    with connection.cursor() as cursor:
        cursor.execute(statement, [batch, max(batch // 10, 1), *params])
        return [(first, last) for first, last in cursor.fetchall()]


def explain(item: QueueItem, *, now: datetime | None = None, stale_days: int | None = None) -> Explanation:
    """Say why the item has its score, in the active language, from what was stored beside it.

    With `now` it also says which rates are older than `stale_days`, the live setting's days when not given.
    """
    rule = rules.get(item.score_rule) if item.score_rule in rules else None
    declared = {one.name: one for one in rule.inputs} if rule else {}
    today = reference.today(now) if now else None
    if today and stale_days is None:
        stale_days = livesettings.get("queues.rate_days") if any(one.get("basis") for one in item.score_inputs) else 0
    before = {one["name"]: one for one in (item.score_before or {}).get("inputs", ())}
    rows, said, changes = [], [], []
    for stored in item.score_inputs:
        one = declared.get(stored["name"])
        words = _words(one, stored)
        note = one.note(stored, today=today, stale_days=stale_days or 0) if one else ""
        whole = ", ".join(filter(None, (words, note)))
        known = before.get(stored["name"])
        was = f"+{known['points']}" if known and known["points"] != stored["points"] else ""
        if was:
            changes.append(f"{title(stored['name'])} {was} → +{stored['points']}")
        origin = one.origin(stored) if one else ""
        rows.append(Row(stored["name"], whole, stored["points"], one.most if one else None, origin, was))
        if one is None or one.said(stored["points"]):
            said.append(f"{whole} (+{stored['points']})")
    named = str(rule.title) if rule else _("score")
    score = computed(item)
    at = (item.score_before or {}).get("at")
    return Explanation(
        sentence=f"{named} {score}: {', '.join(said)}" if score is not None else _("not scored yet"),
        rows=rows,
        score=score,
        rule=item.score_rule,
        version=item.score_version,
        citation=str(rule.citation) if rule else "",
        scored_at=item.scored_at,
        changes=tuple(changes),
        before_at=datetime.fromisoformat(at) if at else None,
    )


def computed(item: QueueItem) -> int | None:
    """Return what the rule gave, whether or not somebody set another score."""
    if item.override_score is None:
        return item.score
    return sum(one["points"] for one in item.score_inputs)


def title(name: str) -> str:
    """Write an input's name for people: "evidence-missing" is "Evidence missing"."""
    return name.replace("-", " ").replace("_", " ").capitalize()


def _words(one: Input | None, stored: dict[str, Any]) -> str:
    """Write a stored input; one that the rule no longer declares is shown as it was stored."""
    if one is None:
        return f"{stored['name']} {stored['value']} {stored['unit']}".strip()
    return one.words(stored["value"], stored["unit"], stored["points"])
