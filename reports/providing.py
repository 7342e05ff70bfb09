"""How a report's rows are read: its SQL file, every value bound, through the reporting connection."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from backoffice import reading, sql
from backoffice.tenants import scope
from exports.bounds import Limits
from exports.encoders import csv, xlsx
from exports.encoders.changes import Changes
from exports.spooling import Spool
from reports.base import Report

FOLDER = Path(__file__).parent / "sql"
_NAMED = re.compile(r"%\((\w+)\)s")
ALWAYS = {"tenant", "row_limit"}


@dataclass(frozen=True)
class Table:
    """A report's whole result: small by its bound of rows."""

    rows: list[tuple[Any, ...]]
    changes: Changes


def bound(report: Report, values: Mapping[str, Any], *, zone: ZoneInfo, row_limit: int) -> dict[str, Any]:
    """Return every value that the SQL names."""
    mine = {"tenant": scope.current().pk, "zone": str(zone), "row_limit": row_limit}
    return {**report.bind(values, zone=zone), **mine}


def read(
    session: reading.Session, report: Report, values: Mapping[str, Any], *, limits: Limits, zone: ZoneInfo
) -> Table:
    """Read the whole result; refuse one past the bound of rows, of which one more is asked for."""
    text = sql.read(FOLDER / report.sql)
    names, rows = session.table(text, bound(report, values, zone=zone, row_limit=limits.rows + 1))
    expected = [column.name for column in report.columns]
    if names != expected:
        raise ValueError(f"report {report.name} returned the columns {names}, and states {expected}")
    limits.check_rows(len(rows))
    return Table(rows, Changes())


def write(report: Report, table: Table, *, encoding: str, zone: ZoneInfo, spool: Spool) -> None:
    """Write the result into the spool."""
    if encoding == "xlsx":
        with xlsx.Book(
            report.columns, title=str(report.title), zone=zone, sink=spool.write, changes=table.changes
        ) as book:
            for row in table.rows:
                book.write([row])
                spool.rows += 1
        return
    spool.write(csv.head(report.columns, encoding=encoding))
    for row in table.rows:
        cells = [
            csv.cell(column, value, zone=zone, changes=table.changes)
            for column, value in zip(report.columns, row, strict=True)
        ]
        spool.write(csv.line(cells).encode("utf-8"))
        spool.rows += 1


def problems(report: Report) -> list[str]:
    """Say what is wrong with the report's SQL: missing, not bound to the tenant, or without its limit."""
    file = FOLDER / report.sql
    if not report.sql or not file.is_file():
        return ["names no file of SQL"]
    named = set(_NAMED.findall(sql.read(file)))
    return [f"does not bind {name} in its SQL" for name in sorted(ALWAYS - named)]
