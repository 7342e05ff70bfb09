"""CSV after RFC 4180: comma, double quotes, a header line, LF at the end of each line.

- Encoding: `utf-8-sig` (a byte order mark, for people and their spreadsheets) or `utf-8` (machines).
- Numbers are plain digits with a point, never an exponent; dates are ISO 8601; instants are ISO 8601
  in the tenant's time zone with their offset; a wall time has none; booleans are `true` and `false`.
- Nothing is an empty field; an empty text is `""`.
- Text is escaped against formulas (see escaping). NUL and lone surrogates become U+FFFD, counted.

A column is rendered either by the database (`rendered`, for COPY) or in Python (`cell`); both write
the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from django.db.models import BooleanField, F, Func, TextField
from django.db.models.functions import Cast

from exports.columns import Column, Kind
from exports.encoders import escaping
from exports.encoders.changes import Changes

BYTE_ORDER_MARK = "\ufeff"
REPLACEMENT = "\ufffd"
COPY_OPTIONS = "FORMAT csv, ENCODING 'UTF8'"
_QUOTED = frozenset(',"\r\n')


class EscapedText(Func):
    """Render a text column in SQL, escaped."""

    output_field = TextField()
    template = (
        f"CASE WHEN {escaping.sql_condition('%(expressions)s')} THEN '''' || %(expressions)s ELSE %(expressions)s END"
    )


class LeadsAFormula(Func):
    """Ask of a text column in SQL whether it is escaped."""

    output_field = BooleanField()
    template = escaping.sql_condition("%(expressions)s")


class IsoInstant(Func):
    """Render an instant in SQL, in the session's time zone with its offset."""

    output_field = TextField()
    template = "to_char(%(expressions)s, 'YYYY-MM-DD\"T\"HH24:MI:SS.USTZH:TZM')"


class IsoTime(Func):
    """Render a time of day in SQL."""

    output_field = TextField()
    template = "to_char(%(expressions)s, 'HH24:MI:SS.US')"


def head(columns: Iterable[Column], *, encoding: str) -> bytes:
    """Write the byte order mark, where the encoding has one, and the header line."""
    mark = BYTE_ORDER_MARK if encoding == "utf-8-sig" else ""
    return (mark + line([escaping.escape(column.name) for column in columns])).encode("utf-8")


def rendered(column: Column) -> F | Func | Cast:
    """Return the expression that renders the column in the database; COPY writes bare numbers and dates itself."""
    if column.kind in {Kind.INTEGER, Kind.DECIMAL, Kind.DATE}:
        return F(column.source)
    if column.kind is Kind.INSTANT:
        return IsoInstant(F(column.source))
    if column.kind is Kind.TIME:
        return IsoTime(F(column.source))
    as_text = Cast(F(column.source), TextField())
    if column.kind is Kind.TEXT and not column.is_formula:
        return EscapedText(as_text)
    return as_text


def cell(column: Column, value: Any, *, zone: ZoneInfo, changes: Changes) -> str | None:
    """Render one value in Python."""
    if value is None:
        return None
    if column.kind is not Kind.TEXT:
        return plain(value, zone=zone)
    text = str(value)
    clean = text.replace("\x00", REPLACEMENT)
    if not clean.isascii():
        clean = "".join(REPLACEMENT if "\ud800" <= letter <= "\udfff" else letter for letter in clean)
    if clean != text:
        changes.replaced += sum(one != other for one, other in zip(clean, text, strict=True))
    if column.is_formula or not escaping.leads_a_formula(clean):
        return clean
    changes.escaped[column.name] = changes.escaped.get(column.name, 0) + 1
    return escaping.escape(clean)


def plain(value: Any, *, zone: ZoneInfo) -> str:
    """Write a number, a truth, a date or an instant. What has no zone is a wall time: it is never turned."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        local = value.astimezone(zone) if value.tzinfo is not None else value
        return local.isoformat(timespec="microseconds")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, time):
        return value.isoformat(timespec="microseconds")
    if isinstance(value, Decimal):
        return format(value if value else abs(value), "f")  # there is no zero below zero
    if isinstance(value, int):
        return str(value)
    raise TypeError(f"a value of a column that is not text is a {type(value).__name__}")


def line(cells: Iterable[str | None]) -> str:
    """Write one line. The standard library's writer leaves a lone CR bare, which breaks the row."""
    return ",".join(_field(value) for value in cells) + "\n"


def _field(value: str | None) -> str:
    if value is None:
        return ""
    if value and _QUOTED.isdisjoint(value):
        return value
    return '"' + value.replace('"', '""') + '"'
