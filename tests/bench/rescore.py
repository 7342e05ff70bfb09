"""Scoring a queue again, beside one raw UPDATE of the same rows, and what the list's readers notice of it.

Cases: every row changes (a day has passed), no row changes, and the list's first page while every row
changes. `limit` is one statement that writes the same columns of the same rows without working anything
out; for the list it is its own p95 before. Both kinds of run take turns, each on a freshly vacuumed table.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

from django.db import connection, connections

from backoffice import clock
from backoffice.commands import Actor
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant
from queues import listing, scoring
from queues.base import queues
from queues.models import ReferenceRate
from tests import factories
from tests.bench.listing import _FILL
from tests.bench.measuring import result

_RAW = """
UPDATE queues_payout
   SET score = (score + 7) %% 101, score_inputs = score_inputs,
       score_before = jsonb_build_object('inputs', score_inputs),
       score_rule = score_rule, score_version = score_version, scored_at = now(),
       score_seen = score_seen + 1
 WHERE tenant_id = %s AND state = 'pending'
"""
_ACTOR = Actor.system("shell", acting_for="a bench")


def run(*, rows: int, quick: bool) -> Iterator[dict[str, Any]]:
    """Fill a table of open payouts (1,000,000 without --rows) and score it again and again."""
    rows = rows or (20_000 if quick else 1_000_000)
    tenant = factories.make_tenant(slug="rescored", currency="GBP")
    with scope.open(tenant):
        now = clock.now()
        ReferenceRate.objects.create(
            tenant=tenant, base="GBP", currency="JPY", rate=Decimal(200), as_of=now.date(), source="Bench"
        )
        with connection.cursor() as cursor:
            cursor.execute(_FILL, {"tenant": tenant.pk, "rule": "", "rows": rows})
        _settle()
        _score(now)
        all_change, raw, none, during, before = [], [], [], [], []
        for turn in range(1):
            _settle()
            before += _timed_pages(lambda: time.sleep(3 if quick else 10), tenant)
            _settle()
            taken: list[float] = []
            day = now + timedelta(days=turn + 1)
            during += _timed_pages(lambda d=day, t=taken: t.append(_timed(lambda: _score(d), changes=rows)), tenant)
            all_change += taken
            _settle()
            none.append(_timed(lambda d=day: _score(d), changes=0))
            raw.append(_timed(lambda: _update(tenant)))
            _settle()
            all_change.append(_timed(lambda d=day: _score(d), changes=rows))
    ours, limit = statistics.median(all_change), statistics.median(raw)
    common: dict[str, Any] = {"rows": rows, "peer": None, "smaller_is_better": True}
    yield result(case="every row changes", unit="s", ours=ours, limit=limit, **common)
    yield result(case="no row changes", unit="s", ours=statistics.median(none), limit=None, **common)
    yield result(case="list p95 meanwhile", unit="ms", ours=_p95(during), limit=_p95(before), **common)


def _score(now: Any) -> int:
    return scoring.rescore(actor=_ACTOR, queue="payouts", now=now, key=uuid4().hex)


def _timed(act: Callable[[], int], *, changes: int | None = None) -> float:
    started = time.perf_counter()
    changed = act()
    assert changes in (None, changed), (changes, changed)
    return time.perf_counter() - started


def _update(tenant: Tenant) -> int:
    with connection.cursor() as cursor:
        cursor.execute(_RAW, [tenant.pk])
        return cursor.rowcount


def _settle() -> None:
    with connections["owner"].cursor() as cursor:
        cursor.execute("VACUUM ANALYZE queues_payout")


def _timed_pages(meanwhile: Callable[[], Any], tenant: Tenant) -> list[float]:
    """Read the list's first page over and over while something else runs; return each one's milliseconds."""
    ended, taken = threading.Event(), []

    def read() -> None:
        with scope.open(tenant):
            while not ended.is_set():
                started = time.perf_counter()
                listing.page(queue=queues.get("payouts"), filters={})
                taken.append((time.perf_counter() - started) * 1000)
                time.sleep(0.02)
        connection.close()

    reader = threading.Thread(target=read)
    reader.start()
    try:
        meanwhile()
    finally:
        ended.set()
        reader.join()
    return taken


def _p95(taken: list[float]) -> float:
    return statistics.quantiles(taken, n=20)[-1]
