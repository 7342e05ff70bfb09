"""The monitor with 1,000,000 jobs, their steps, events and notices, beside the same with 1,000.

Each page through the test client, for a tenant and for the platform's operators, filtered and not; then
what the reconciler asks each second, and one batch of retention. `limit` is the figure at 1,000 jobs of
the same run and `vs_limit` how much of its speed is left: 1.0 is as fast.
"""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
from django.db import connection, connections, transaction
from django.test import Client

from backoffice import clock
from backoffice.jobs import purging, reconciling, statements
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant
from tests import factories
from tests.bench.measuring import result

SMALL = 1_000
FEW = "few_jobs"
CHUNK = 100_000
_FILL = Path(__file__).with_suffix(".sql")
Case = Callable[[], Any]


def run(*, rows: int, quick: bool) -> Iterator[dict[str, Any]]:
    """Fill 1,000 jobs, measure, fill up to 1,000,000 (or `rows`), measure again."""
    import tests.probe_jobs.definitions.probes  # noqa: F401  (registers the probes)

    many = rows or (20_000 if quick else 1_000_000)
    tenant, other = factories.make_tenant(slug="monitor"), factories.make_tenant(slug="elsewhere")
    person = factories.make_person(tenant=tenant, roles=("supervisor", "analyst"))
    operator = factories.make_person(tenant=Tenant.objects.get(slug="platform"), roles=("operator",))
    from backoffice.jobs.base import kinds

    idle = kinds.get("probe.idle")
    catalog = {"title": str(idle.title), "steps": idle.catalog(), "no_consequence": "It is a test."}
    whom = {"catalog": json.dumps(catalog), "tenant": tenant.pk, "other": other.pk, "person": person.pk, "upto": many}
    cases = _pages(person, operator) | _questions(tenant)
    _fill(whom, SMALL)
    _copy(FEW)
    _fill(whom, many)
    for name, (few, all_of_them) in _measure(cases, rounds=5 if quick else 15).items():
        yield result(case=name, rows=many, unit="ms", ours=all_of_them, peer=None, limit=few, smaller_is_better=True)


def _fill(whom: dict[str, Any], size: int) -> None:
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT count(*) FROM job")
        first = int(cursor.fetchone()[0]) + 1
        for start in range(first, size + 1, CHUNK):
            cursor.execute(
                _FILL.read_text(encoding="utf-8"), {**whom, "first": start, "last": min(start + CHUNK - 1, size)}
            )
        for table in ("job", "job_step", "job_event", "job_notice"):
            cursor.execute(f"VACUUM ANALYZE {table}")


def _pages(person: Any, operator: Any) -> dict[str, Case]:
    def get(who: Any, path: str, **headers: str) -> Case:
        client = Client(SERVER_NAME="localhost")
        client.force_login(who)

        def fetch() -> None:
            answer = client.get(path, headers=headers)
            assert answer.status_code == 200, (path, answer.status_code)

        return fetch

    found: dict[str, Case] = {}
    for name, who, where in (("a tenant's", person, "/t/monitor"), ("all", operator, "/t/platform")):
        found[f"{name} jobs"] = get(who, f"{where}/jobs/")
        for state in ("failed", "succeeded", "running", "queued"):
            found[f"{name} jobs, {state}"] = get(who, f"{where}/jobs/?state={state}")
        found[f"{name} jobs, further back"] = get(who, f"{where}/jobs/?before=500")
        found[f"{name} jobs, one job"] = get(who, f"{where}/jobs/333/")
        found[f"{name} jobs, the live part of one"] = get(who, f"{where}/jobs/333/", HX_Request="true")
        found[f"{name} notices"] = get(who, f"{where}/notices/")
    return found


def _questions(tenant: Tenant) -> dict[str, Case]:
    def batch() -> None:
        with scope.open(tenant), transaction.atomic():
            purging.purge_ended(before=clock.now() + timedelta(days=1), limit=100)
            transaction.set_rollback(True)

    return {
        "reconciler: lost or overdue": reconciling.end_overdue,
        "reconciler: to dispatch": lambda: statements.on_django("any_due", {}),
        "retention: one batch of 100, rolled back": batch,
    }


def _copy(name: str) -> None:
    """Keep the database as it is now under another name."""
    for one in connections.all():
        one.close()
    with psycopg.connect(os.environ["DATABASE_SUPERUSER_URL"], autocommit=True) as superuser:
        superuser.execute(f"CREATE DATABASE {name} TEMPLATE {connection.settings_dict['NAME']}")


def _measure(cases: dict[str, Case], *, rounds: int) -> dict[str, tuple[float, float]]:
    """Run each case in turn on the database with few jobs and on the one with many; medians in milliseconds."""
    names = (FEW, str(connection.settings_dict["NAME"]))
    taken: dict[tuple[str, str], list[float]] = {(case, name): [] for case in cases for name in names}
    for turn in range(rounds + 1):
        for name in names:
            connection.close()
            connection.settings_dict["NAME"] = name
            for case, one in cases.items():
                one()  # what a new connection and a cold page cost is not counted
                began = time.perf_counter()
                one()
                if turn:
                    taken[case, name].append((time.perf_counter() - began) * 1000)
    few, many = ({case: statistics.median(taken[case, name]) for case in cases} for name in names)
    return {case: (few[case], many[case]) for case in cases}
