"""A search in the queue's page through the test client, beside the stock changelist's own search.

Each case is what a person might type over the whole queue: words that every row has, some have, few have
and none has, and what an index of trigrams cannot answer. `sql` is the product's page and count without
rendering, `deep` the page in the middle of the list, `claim` a claim-next within the search, rolled back.
The stock search reads the whole table for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from django.db import connection, transaction
from django.test import Client, override_settings

from backoffice.tenants import scope
from backoffice.tenants.models import Tenant, User
from queues import claiming, listing, narrowing
from queues.base import Queue, queues
from tests import factories
from tests.bench.listing import _FILL, _fetch, _key_in_the_middle, _settle
from tests.bench.measuring import result, seconds_in_turn

_NAMES = """'Beneficiary payment ' || n || CASE n %% 3 WHEN 0 THEN ' Café' WHEN 1 THEN ' École' ELSE '' END
    || CASE WHEN n %% 200 = 7 THEN ' Zwilling' ELSE '' END
    || CASE WHEN n %% 50000 = 9 THEN ' Quagmire شركة 🎉' ELSE '' END
    || CASE WHEN n %% 10 = 0 AND (n::bigint * 7919) %% 101 < 5 THEN ' Hindmost' ELSE '' END"""

CASES = {
    "a word of every row": "payment",
    "a word of a third, other case": "CAFÉ",
    "the same without its accent": "cafe",
    "a word of one in 200": "zwilling",
    "the same, at the end of the list alone": "hindmost",
    "a word of 20 rows": "quagmire",
    "a word of none": "xylophone",
    "none, of common trigrams": "paymentx",
    "a common word and a rare one": "payment quagmire",
    "two common words": "beneficiary payment",
    "a reference": "P-7777",
    "the beginning of references": "P-5",
    "an amount": "1900.5",
    "an amount in a currency": "GBP 1900.50",
    "one letter": "p",
    "one letter of none": "x",
    "two letters": "qu",
    "punctuation": "!!!",
    "a hyphen": "-",
    "a quote": "o'br",
    "wildcards of SQL": "%_%",
    "a backslash": "a\\b",
    "a NUL": "pay\0ment",
    "ten thousand letters": "x" * 10_000,
    "from right to left": "شركة",
    "an emoji": "🎉",
}


def run(*, rows: int, quick: bool) -> Iterator[dict[str, Any]]:
    """Fill a table of open payouts (1,000,000 without --rows) and search it."""
    rows = rows or (10_000 if quick else 1_000_000)
    tenant = factories.make_tenant(slug="bench-search")
    person = factories.make_person(tenant=tenant, roles=("staff",))
    queue = queues.get("payouts")
    with connection.cursor() as cursor:
        rule = queue.rule.name if queue.rule else ""
        cursor.execute(_FILL.replace("'Beneficiary ' || n", _NAMES), {"tenant": tenant.pk, "rule": rule, "rows": rows})
    _settle()
    client = Client(SERVER_NAME="localhost")
    client.force_login(person)
    with scope.open(tenant):
        middle = listing.page(queue=queue, filters={}, size=1, after=_key_in_the_middle(rows)).after
    ours, stock = "/t/bench-search/queues/payouts/", "/t/bench-search/stock/queues/payout/"
    with override_settings(ROOT_URLCONF="tests.bench.stock_urls"):
        for case, text in CASES.items():
            taken = seconds_in_turn(
                {
                    "ours": _fetch(client, ours, {"q": text}),
                    "peer": _fetch(client, stock, {"state__exact": "pending", "q": text.replace("\0", "")}),
                    "sql": _read(tenant, queue, text),
                    "deep": _read(tenant, queue, text, after=middle),
                    "filtered": _read(tenant, queue, text, currency="JPY"),
                    "claim": _claim(tenant, queue, person, text),
                },
                rounds=3 if quick else 5,
            )
            ms = {name: round(seconds * 1000, 1) for name, seconds in taken.items()}
            yield {
                **result(
                    case=case,
                    rows=rows,
                    unit="ms",
                    smaller_is_better=True,
                    ours=ms["ours"],
                    peer=ms["peer"],
                    limit=None,
                ),
                **{name: ms[name] for name in ("sql", "deep", "filtered", "claim")},
            }


def _read(tenant: Tenant, queue: Queue, text: str, *, after: str = "", **filters: str) -> Callable[[], None]:
    def read() -> None:
        with scope.open(tenant):
            found = listing.page(queue=queue, filters={"q": text, **filters}, after=after)
            if found.after:
                listing.count(queue=queue, filters={"q": text, **filters})

    return read


def _claim(tenant: Tenant, queue: Queue, person: User, text: str) -> Callable[[], None]:
    """Find and hold the first item of the search by the statement of claim-next, then let it go."""

    def claim() -> None:
        with scope.open(tenant), transaction.atomic():
            narrowed, values = narrowing.condition(queue=queue, filters={"q": text}, person=person)
            claiming.run("claim_next.sql", queue, person, narrowed=narrowed, **values)
            transaction.set_rollback(True)

    return claim
