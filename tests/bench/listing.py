"""The queue's page through the test client, beside the stock changelist and the bare query of its rows.

Cases: the first page, a filtered page (one currency in twenty), a rare value, a page from the middle
of the list, a search for one reference, the order by a score that the query computes (the peer's; ours
reads the stored one). `limit` is the page's own rows read by the same statement on a bare connection,
`rows_sql` is what that statement takes in the page itself, and `sql` what all of the page's statements
take: session, person, rights, rows, count, filters, views, notices. The stock changelist pages by number,
so its middle page uses an offset.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
from django.conf import settings
from django.db import connection, connections
from django.test import Client, override_settings

from backoffice.tenants import scope
from queues import listing, ordering
from queues.base import queues
from queues.models import Payout
from tests import factories
from tests.bench.measuring import result, seconds_in_turn

_FILL = """
INSERT INTO queues_payout (tenant_id, reference, state, opened_at, score, score_rule, score_version, scored_at,
                           score_inputs, beneficiary, account, amount, currency)
SELECT %(tenant)s, 'P-' || n, 'pending', now() - (n %% 400) * interval '1 day' - n * interval '1 second',
       (n::bigint * 7919) %% 101, %(rule)s, 1, now(),
       jsonb_build_array(jsonb_build_object('name', 'age', 'value', (n %% 400)::text, 'unit', '', 'points', 24)),
       'Beneficiary ' || n, 'ACC-' || n %% 5000, (n %% 9000) + 0.5,
       CASE WHEN n %% 5000 = 0 THEN 'KWD' WHEN n %% 20 = 0 THEN 'JPY' ELSE 'GBP' END
  FROM generate_series(1, %(rows)s) AS n
"""


def run(*, rows: int, quick: bool) -> Iterator[dict[str, Any]]:
    """Fill a table of open payouts (1,000,000 without --rows) and measure its pages."""
    rows = rows or (10_000 if quick else 1_000_000)
    tenant = factories.make_tenant(slug="bench")
    person = factories.make_person(tenant=tenant, roles=("staff", "finance"))
    queue = queues.get("payouts")
    with connection.cursor() as cursor:
        cursor.execute(_FILL, {"tenant": tenant.pk, "rule": queue.rule.name if queue.rule else "", "rows": rows})
    _settle()
    client = Client(SERVER_NAME="localhost")
    client.force_login(person)
    ours, stock = "/t/bench/queues/payouts/", "/t/bench/stock/queues/payout/"
    one = f"P-{rows // 2}"
    with scope.open(tenant):
        middle = listing.page(queue=queue, filters={}, size=1, after=_key_in_the_middle(rows))
    cases = {
        "first page": (ours, f"{stock}?state__exact=pending", {}, ""),
        "filtered page": (
            f"{ours}?currency=JPY",
            f"{stock}?state__exact=pending&currency__exact=JPY",
            {"currency": "JPY"},
            "",
        ),
        "rare value": (
            f"{ours}?currency=KWD",
            f"{stock}?state__exact=pending&currency__exact=KWD",
            {"currency": "KWD"},
            "",
        ),
        "search": (f"{ours}?q={one}", f"{stock}?state__exact=pending&q={one}", {"q": one}, ""),
        "computed score": (ours, "/t/bench/computed/queues/payout/?state__exact=pending", {}, ""),
        "middle page": (
            f"{ours}?after={middle.after}",
            f"{stock}?state__exact=pending&p={rows // 100}",
            {},
            middle.after,
        ),
    }
    with override_settings(ROOT_URLCONF="tests.bench.stock_urls"), psycopg.connect(_address()) as bare:
        for case, (our_path, stock_path, filters, after) in cases.items():
            with scope.open(tenant):
                statements = _statements(lambda f=filters, a=after: listing.page(queue=queue, filters=f, after=a))
            taken = seconds_in_turn(
                {
                    "ours": _fetch(client, our_path),
                    "peer": _fetch(client, stock_path),
                    "limit": _read(bare, statements),
                },
                rounds=3 if quick else 7,
            )
            rows_sql, every = _in_the_database(_fetch(client, our_path), statements, rounds=7)
            measured = {name: seconds * 1000 for name, seconds in taken.items()}
            yield {
                **result(
                    case=case,
                    rows=rows,
                    unit="ms",
                    smaller_is_better=True,
                    ours=measured["ours"],
                    peer=measured["peer"],
                    limit=measured["limit"],
                ),
                "rows_sql": round(rows_sql * 1000, 3),
                "sql": round(every * 1000, 3),
            }


def _settle() -> None:
    """Leave the table as its upkeep would: only its owner may."""
    with connections["owner"].cursor() as cursor:
        for table in ("queues_payout", "queues_searchtext"):
            cursor.execute(f"VACUUM ANALYZE {table}")


def _in_the_database(fetch: Callable[[], None], statements: list[str], *, rounds: int) -> tuple[float, float]:
    """Return the median seconds that a page's statements take: those that read its rows, and all of them."""
    rows: list[float] = []
    every: list[float] = []

    def note(execute: Any, statement: Any, params: Any, many: bool, context: Any) -> Any:
        text = statement if isinstance(statement, str) else ""
        of_rows = (context["cursor"].mogrify(text, params) if params else text) in statements
        began = time.perf_counter()
        try:
            return execute(statement, params, many, context)
        finally:
            took = time.perf_counter() - began
            every[-1] += took
            rows[-1] += took if of_rows else 0

    for _round in range(rounds):
        rows.append(0.0)
        every.append(0.0)
        with connection.execute_wrapper(note):
            fetch()
    return statistics.median(rows), statistics.median(every)


def _key_in_the_middle(rows: int) -> str:
    item = Payout.objects.filter(state="pending", score=50).order_by("opened_at", "id")[rows // 202 :][:1].get()
    return ordering.BY_SCORE.write_key(item)


def _fetch(client: Client, path: str, asked: dict[str, str] | None = None) -> Callable[[], None]:
    def fetch() -> None:
        response = client.get(path, asked)
        assert response.status_code == 200, (path, response.status_code)

    return fetch


def _statements(read: Callable[[], Any]) -> list[str]:
    """Record the statements over the payouts' rows that a read runs, as PostgreSQL gets them."""
    found: list[str] = []

    def note(execute: Any, statement: str, params: Any, many: bool, context: Any) -> Any:
        if "queues_payout" in statement:
            found.append(context["cursor"].mogrify(statement, params) if params else statement)
        return execute(statement, params, many, context)

    with connection.execute_wrapper(note):
        read()
    return found


def _read(bare: psycopg.Connection[Any], statements: list[str]) -> Callable[[], None]:
    def read() -> None:
        for statement in statements:
            bare.execute(statement.encode()).fetchall()

    return read


def _address() -> str:
    login = settings.DATABASES["default"]
    return psycopg.conninfo.make_conninfo(
        host=login["HOST"], port=login["PORT"], user=login["USER"], password=login["PASSWORD"], dbname=login["NAME"]
    )
