"""Try a rule's next version out on the open items: which would move, and how far. Nothing is written.

Both versions are computed in one statement in a read-only transaction. It covers the first BOUND items of
the list as the live version orders them, and says when there are more.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from django.db import OperationalError, connection, transaction
from django.urls import reverse

from backoffice import sql
from queues import scoring
from queues.base import Queue
from queues.models.item import list_order, open_items

BOUND = 100_000
TOP = 100
LARGEST = 20
SECONDS = 15
_SQL = Path(__file__).parent / "sql"


@dataclass(frozen=True)
class Move:
    """One item's place and score now, and under the next version."""

    reference: str
    url: str
    place: int
    next_place: int
    score: int
    next_score: int

    @property
    def places(self) -> int:
        """How many places it would rise; below 0 it would fall."""
        return self.place - self.next_place


@dataclass(frozen=True)
class DryRun:
    """What the next version would do; `bounded`: there are more items than were looked at."""

    looked_at: int
    bounded: bool
    rescored: int
    moved: int
    top_moved: int
    top_left: int
    top_mean: int
    moves: list[Move]
    too_slow: bool = False


def dry_run(*, queue: Queue, now: datetime) -> DryRun | None:
    """Compare the rule's candidate with the rule in force; None where there is no candidate."""
    rule = queue.rule
    if rule is None or rule.candidate is None:
        return None
    rows = queue.model.objects.filter(open_items(queue.model)).order_by(*list_order())[: BOUND + 1]
    both = rows.annotate(
        live_score=scoring.total(rule, now=now), next_score=scoring.total(rule.candidate(), now=now)
    ).values_list("pk", "reference", "opened_at", "live_score", "next_score")
    inner, params = both.query.sql_with_params()
    statement = sql.read(_SQL / "dry_run.sql").replace("/* both versions' SELECT */", inner)
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION READ ONLY")
            cursor.execute("SELECT set_config('statement_timeout', %s, true)", [f"{SECONDS}s"])
            cursor.execute(statement, [*params, BOUND, TOP, TOP, TOP, TOP, LARGEST])
            found = cursor.fetchone()
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", "") != "57014":  # query_canceled
            raise
        return DryRun(0, False, 0, 0, 0, 0, 0, [], too_slow=True)
    looked_at, bounded, rescored, moved, top_moved, top_left, top_mean, moves = found
    return DryRun(
        looked_at,
        bounded,
        rescored,
        moved,
        top_moved,
        top_left,
        top_mean,
        [_move(queue, one) for one in json.loads(moves or "[]")],
    )


def _move(queue: Queue, one: dict[str, Any]) -> Move:
    return Move(
        reference=one["reference"],
        url=reverse("item", args=[queue.name, one["id"]]),
        place=one["place"],
        next_place=one["next_place"],
        score=one["score"],
        next_score=one["next_score"],
    )
