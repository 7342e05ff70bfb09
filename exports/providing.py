"""How an export's rows are read: by key, page after page, within one snapshot of the reporting connection.

Into CSV, a page is one COPY where the database renders every column; where one is computed in Python,
it is read as model instances. Both write the same bytes for the same columns. Into a workbook a page is
read as values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Any, Protocol, TypeVar
from zoneinfo import ZoneInfo

from django.db.models import Count, F, Max, Q, QuerySet, TextField
from django.db.models.functions import Cast

from backoffice import reading
from exports.base import NoPaging, Pages
from exports.bounds import Limits
from exports.columns import Column, Kind
from exports.encoders import csv, xlsx
from exports.encoders.changes import Changes
from exports.spooling import Spool

_Row = TypeVar("_Row")


class Watch(Protocol):
    """Whoever waits for a run: told how far it is, asked whether it is still wanted."""

    def check(self) -> None:
        """Raise when the run is no longer wanted."""

    def insist(self) -> None:
        """Ask again, now: the query was stopped from outside."""

    def report(self, done: int, total: int) -> None:
        """Note the progress, in rows."""


@dataclass(frozen=True)
class Written:
    """What lies in the spool: how many rows, of which instant, and what was changed in writing them."""

    rows: int
    as_of: datetime
    changes: Changes
    sheets: int = 0


@dataclass(frozen=True)
class _Edge:
    """One page's end: how many rows it has, its last key, and how many cells of each column are escaped."""

    rows: int
    last: Any
    escaped: dict[str, int]


def count(rows: QuerySet[Any], *, at_most: int) -> int:
    """Count the rows, no further than one past `at_most`."""
    return rows.using(reading.ALIAS).order_by()[: at_most + 1].count()


def first_rows(rows: QuerySet[Any], columns: tuple[Column, ...], *, number: int, zone: ZoneInfo) -> list[list[str]]:
    """Return the first rows as they would stand in the file."""
    page = rows.using(reading.ALIAS).order_by("pk")[:number]
    changes = Changes()
    return [[text or "" for text in cells] for cells in _cells(page, columns, zone=zone, changes=changes)]


def write(
    session: reading.Session,
    rows: QuerySet[Any],
    columns: tuple[Column, ...],
    *,
    paging: Pages | NoPaging | None,
    encoding: str,
    limits: Limits,
    zone: ZoneInfo,
    spool: Spool,
    watch: Watch,
    title: str = "",
) -> Written:
    """Write every row into the spool, ordered by key; refuse as soon as a bound is hit."""
    rows = rows.using(reading.ALIAS).order_by("pk")
    total = count(rows, at_most=limits.rows)
    limits.check_rows(total)
    size = paging.size if isinstance(paging, Pages) else max(total, 1)
    changes = Changes()
    pages = _Pages(session, rows, columns, total=total, size=size, watch=watch)
    if encoding == "xlsx":
        with xlsx.Book(columns, title=title, zone=zone, sink=spool.write, changes=changes) as book:
            for page in pages.walk():
                book.write(_counted(_values(page, columns), spool))
        return Written(rows=pages.done, as_of=session.as_of, changes=changes, sheets=book.sheets)
    spool.write(csv.head(columns, encoding=encoding))
    by_copy = all(column.compute is None for column in columns)
    for page in pages.walk(count_escaped=changes if by_copy else None):
        if by_copy:
            _copy(session, page, columns, spool=spool)
        else:
            cells = _cells(page, columns, zone=zone, changes=changes)
            spool.write("".join(csv.line(one) for one in _counted(cells, spool)).encode("utf-8"))
    return Written(rows=pages.done, as_of=session.as_of, changes=changes)


@dataclass
class _Pages:
    """Walk the rows by key, a page at a time, as long as they are wanted and the session's time lasts."""

    session: reading.Session
    rows: QuerySet[Any]
    columns: tuple[Column, ...]
    total: int
    size: int
    watch: Watch
    done: int = 0

    def walk(self, *, count_escaped: Changes | None = None) -> Iterator[QuerySet[Any]]:
        """Yield each page; count in `count_escaped` what its SQL escapes."""
        rest = self.rows
        while self.done < self.total:
            self.watch.check()
            self.session.check_time()
            edge = _edge(rest[: self.size], self.columns, by_copy=count_escaped is not None)
            yield rest.filter(pk__lte=edge.last)
            if count_escaped is not None:
                for name, escaped in edge.escaped.items():
                    count_escaped.escaped[name] = count_escaped.escaped.get(name, 0) + escaped
            self.done, rest = self.done + edge.rows, self.rows.filter(pk__gt=edge.last)
            self.watch.report(self.done, self.total)


def _edge(page: QuerySet[Any], columns: tuple[Column, ...], *, by_copy: bool) -> _Edge:
    """Look at the page before it is written: the snapshot keeps both looks the same."""
    texts = [column for column in columns if by_copy and column.kind is Kind.TEXT and not column.is_formula]
    flags = {f"flag_{at}": csv.LeadsAFormula(Cast(column.source, TextField())) for at, column in enumerate(texts)}
    counts = {f"escaped_{at}": Count("pk", filter=Q(**{f"flag_{at}": True})) for at in range(len(texts))}
    found = page.annotate(**flags).values("pk", *flags).aggregate(number=Count("pk"), last=Max("pk"), **counts)
    escaped = {column.name: found[f"escaped_{at}"] for at, column in enumerate(texts) if found[f"escaped_{at}"]}
    return _Edge(rows=found["number"], last=found["last"], escaped=escaped)


def _copy(session: reading.Session, page: QuerySet[Any], columns: tuple[Column, ...], *, spool: Spool) -> None:
    sql, params = _rendered(page, columns).query.get_compiler(using=reading.ALIAS).as_sql()
    blocks: list[bytes | memoryview] = []
    for block in session.copy_rows(f"COPY ({sql}) TO STDOUT WITH ({csv.COPY_OPTIONS})", params):
        blocks.append(block)
        spool.rows += 1  # a block is a row
        if len(blocks) >= 10_000:  # a page may be the whole table
            spool.write(b"".join(blocks))
            blocks.clear()
    spool.write(b"".join(blocks))


def _counted(rows: Iterator[_Row], spool: Spool) -> Iterator[_Row]:
    for row in rows:
        yield row
        spool.rows += 1


def _cells(
    page: QuerySet[Any], columns: tuple[Column, ...], *, zone: ZoneInfo, changes: Changes
) -> Iterator[list[str | None]]:
    if all(column.compute is None for column in columns):
        for row in _rendered(page, columns):
            yield [one if one is None or isinstance(one, str) else csv.plain(one, zone=zone) for one in row]
        return
    for values in _values(page, columns):
        yield [
            csv.cell(column, value, zone=zone, changes=changes) for column, value in zip(columns, values, strict=True)
        ]


def _values(page: QuerySet[Any], columns: tuple[Column, ...]) -> Iterator[Sequence[Any]]:
    """Read the page's values: as model instances where a column is computed, else as bare rows."""
    if all(column.compute is None for column in columns):
        named = {f"column_{at}": F(column.source) for at, column in enumerate(columns)}
        yield from page.annotate(**named).values_list(*named)
        return
    readers = [column.compute or attrgetter(column.source.replace("__", ".")) for column in columns]
    for item in page:
        yield [read(item) for read in readers]


def _rendered(page: QuerySet[Any], columns: tuple[Column, ...]) -> QuerySet[Any, Any]:
    named = {f"column_{at}": csv.rendered(column) for at, column in enumerate(columns)}
    return page.annotate(**named).values_list(*named)
