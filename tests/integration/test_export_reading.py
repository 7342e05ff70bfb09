"""How an export's rows are read: the same bytes from the database and from Python, every row once."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from operator import attrgetter
from zoneinfo import ZoneInfo

import pytest

from backoffice import reading
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant
from exports import providing
from exports.base import Pages, exports
from exports.columns import Column
from exports.spooling import Spool
from tests.making_files import Watcher, make_payouts, read_csv

PAYOUTS = exports.get("payouts")


def written(columns: tuple[Column, ...], *, size: int = 10_000) -> tuple[bytes, providing.Written, Watcher]:
    tenant, limits, watcher = scope.current(), PAYOUTS.stated_bounds().read(), Watcher()
    zone = ZoneInfo(tenant.time_zone)
    with Spool(limits=limits) as spool:
        with reading.session(tenant=tenant, timeout=limits.time, name="exports:0") as session:
            result = providing.write(
                session,
                PAYOUTS.rows({}, zone=zone),
                columns,
                paging=Pages(size=size),
                encoding="utf-8",
                limits=limits,
                zone=zone,
                spool=spool,
                watch=watcher,
            )
        spool.complete()
        return spool.path.read_bytes(), result, watcher


def computed() -> tuple[Column, ...]:
    return tuple(replace(column, compute=attrgetter(column.source)) for column in PAYOUTS.columns)


@pytest.mark.proves("jobs#escape-formula-leading-export-values")
def test_the_database_and_python_write_the_same_bytes(tenant: Tenant) -> None:
    tenant.time_zone = "Asia/Kolkata"
    tenant.save()
    texts = [
        "=1",
        " +1",
        "'@",
        "a,b",
        'say "x"',
        "",
        "two\r\nlines",
        "\r",
        "\u2003－1",
        "ok",
        "\u180e=1",
        "\x1f=1",
        "\u2028-",
    ]
    make_payouts(120, texts=texts)
    by_copy, one, _watcher = written(PAYOUTS.columns, size=50)
    in_python, other, _watcher = written(computed(), size=50)
    assert by_copy == in_python
    assert one.changes == other.changes and one.changes.escaped["description"] > 20


@pytest.mark.proves("jobs#declare-export-paging")
def test_pages_by_key_hold_every_row_once_whatever_the_ties(tenant: Tenant) -> None:
    make_payouts(200, opened_at=datetime.fromisoformat("2026-01-01T00:00:00Z"))
    data, result, watcher = written(PAYOUTS.columns, size=50)
    assert len({row["id"] for row in read_csv(data)}) == 200 == result.rows
    assert watcher.reports == [(50, 200), (100, 200), (150, 200), (200, 200)]
