"""Claims a second through dispatch, beside raw psycopg that runs the same statement.

Ours is the whole command: permission, receipt, membership lock, cap, claim, audit, commit. `limit` is
claim_next.sql alone, on as many bare connections, each committing. Every process of either kind holds one
connection and claims for a person of its own; both kinds take turns, and the first 10,000 items of the list
are held by somebody else throughout.
"""

from __future__ import annotations

import multiprocessing
import statistics
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import psycopg
from django.db import connection, connections

from backoffice import sql
from tests.bench.listing import _FILL, _address
from tests.bench.measuring import result

HELD = 10_000
_HOLD = """
UPDATE queues_payout SET claim_holder_id = %(person)s, claim_token = 1, claimed_at = now(),
       lease_until = now() + interval '1 day'
 WHERE id IN (SELECT id FROM queues_payout WHERE tenant_id = %(tenant)s AND state = 'pending'
               ORDER BY score DESC NULLS LAST, opened_at, id LIMIT %(held)s)
"""


def run(*, rows: int, quick: bool) -> Iterator[dict[str, Any]]:
    """Fill a table of open payouts (1,000,000 without --rows), hold the first of them, and claim."""
    from tests import factories

    rows = rows or (20_000 if quick else 1_000_000)
    seconds, rounds = (2.0, 1) if quick else (6.0, 2)
    tenant = factories.make_tenant(slug="claimed")
    people = [factories.make_person(tenant=tenant).pk for _number in range(51)]
    with connection.cursor() as cursor:
        cursor.execute(_FILL, {"tenant": tenant.pk, "rule": "", "rows": rows})
        cursor.execute(_HOLD, {"tenant": tenant.pk, "person": people[50], "held": min(HELD, rows // 2)})
    with connections["owner"].cursor() as cursor:
        cursor.execute("VACUUM ANALYZE queues_payout")
    connections.close_all()
    for number in (1, 4, 16, 50):
        rates: dict[str, list[float]] = {"ours": [], "limit": []}
        for _round in range(rounds):
            for kind in rates:
                rates[kind].append(_rate(kind, number, people, tenant.pk, seconds))
        yield result(
            case=f"{number} connection{'s' if number > 1 else ''}",
            rows=rows,
            unit="claims/s",
            ours=statistics.median(rates["ours"]),
            peer=None,
            limit=statistics.median(rates["limit"]),
            smaller_is_better=False,
        )


def _rate(kind: str, number: int, people: list[int], tenant: int, seconds: float) -> float:
    """Let so many processes claim for so long; return claims a second."""
    fork = multiprocessing.get_context("fork")
    ready, counts = fork.Barrier(number + 1), fork.Queue()
    work = _ours if kind == "ours" else _raw
    started = [
        fork.Process(target=work, args=(people[place], tenant, seconds, ready, counts)) for place in range(number)
    ]
    for process in started:
        process.start()
    ready.wait(120)
    made = sum(counts.get(timeout=seconds + 120) for _process in started)
    for process in started:
        process.join()
    return made / seconds


def _ours(person: int, tenant: int, seconds: float, ready: Any, counts: Any) -> None:
    from backoffice.commands import Actor
    from backoffice.tenants import scope
    from backoffice.tenants.models import Tenant, User
    from queues import claiming
    from queues.base import Claim, queues

    # A person may hold five; here each holds thousands, so the cap is counted in full, but never reached.
    type(queues.get("payouts")).claim = Claim.required(lease=timedelta(hours=1), max_held=10**9)
    with scope.open(Tenant.objects.get(pk=tenant)):
        actor = Actor.person(User.objects.get(pk=person))
        claiming.claim_next(actor=actor, queue="payouts", key=uuid4().hex)
        ready.wait(120)
        until, made = time.perf_counter() + seconds, 0
        while time.perf_counter() < until:
            claiming.claim_next(actor=actor, queue="payouts", key=uuid4().hex)
            made += 1
            if made % 5 == 0:
                _let_go(person)
    counts.put(made)
    connections.close_all()


def _let_go(person: int) -> None:
    """Decide what the person holds, as people do: the held ones stay few and the list gets shorter."""
    sql.prepared(_DECIDE, {"person": person})


_DECIDE = """
UPDATE queues_payout SET state = 'approved', claim_holder_id = NULL, claimed_at = NULL, lease_until = NULL
 WHERE claim_holder_id = %(person)s
"""


def _raw(person: int, tenant: int, seconds: float, ready: Any, counts: Any) -> None:
    from queues import claiming
    from queues.models import Payout

    statement = claiming.statement("claim_next.sql", Payout)
    lease = timedelta(hours=1)
    bound = {"tenant": tenant, "person": person, "model": "payout", "lease": lease, "max_held": 10**9}
    with psycopg.connect(_address(), autocommit=True) as bare:
        bare.execute(statement, bound).fetchone()
        ready.wait(120)
        until, made = time.perf_counter() + seconds, 0
        while time.perf_counter() < until:
            bare.execute(statement, bound).fetchone()
            made += 1
            if made % 5 == 0:
                bare.execute(_DECIDE, {"person": person})
    counts.put(made)
