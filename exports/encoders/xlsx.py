"""XLSX after ECMA-376, written as it is read: every cell has its column's declared type.

- Text is always a text cell, so that nothing in it is ever a formula and no character of it changes. What XML
  cannot hold becomes U+FFFD, counted. A text longer than a cell holds refuses the file: nothing is cut.
- Numbers are stored as they are, never rounded. A spreadsheet counts in 15 significant digits: a number with
  more is a text cell, counted by column.
- Dates are dates without a time. Instants stand in the tenant's time zone, which their header names: a cell
  knows no offset, so of a repeated hour's two times CSV alone tells them apart. What is before March 1900, where
  a spreadsheet's calendar is wrong, is text.
- Past a sheet's 1,048,576 rows the next sheet goes on, with the header again.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from types import TracebackType
from typing import IO, Any, cast
from zoneinfo import ZoneInfo

from django.utils.translation import gettext_lazy as _

from backoffice.errors import Refusal
from exports.columns import Column, Kind
from exports.encoders import parts
from exports.encoders.changes import Changes
from exports.encoders.csv import REPLACEMENT, plain

SHEET_ROWS = 1_048_576
SHEET_BYTES = 1_900_000_000  # below what a plain ZIP entry holds
LONGEST_CELL = 32_767
DIGITS = 15
_EXACT = 10**DIGITS
LEVEL = 3  # of compression: half the time of the usual 6, for a file a tenth larger
_BLOCK = 2_000  # rows rendered before they are compressed
_DAY_ZERO, _FIRST = datetime(1899, 12, 30, tzinfo=UTC), date(1900, 3, 1)
_MICROSECOND = timedelta(microseconds=1)
_A_DAY = timedelta(days=1) // _MICROSECOND
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_ESCAPED_ALREADY = re.compile("_(?=x[0-9A-Fa-f]{4}_)")
_MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})


class Book:
    """Write rows into a workbook that grows in `sink`. Use it as a context manager: its end completes the workbook."""

    def __init__(
        self, columns: Sequence[Column], *, title: str, zone: ZoneInfo, sink: Callable[[bytes], None], changes: Changes
    ) -> None:
        self.sheets = 0
        self._columns, self._title, self._zone, self._changes = columns, title, zone, changes
        self._stream = _Stream(sink)
        self._zip = zipfile.ZipFile(cast("IO[bytes]", self._stream), "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL)
        self._letters = [parts.letters(at) for at in range(len(columns))]
        self._row, self._bytes, self._done = 0, 0, 0
        self._open_sheet()

    def write(self, rows: Iterable[Sequence[Any]]) -> None:
        """Append the rows, whose values stand in the order of the columns."""
        block: list[str] = []
        for values in rows:
            if self._row >= SHEET_ROWS or self._bytes >= SHEET_BYTES:
                self._put("".join(block))
                block.clear()
                self._close_sheet()
                self._open_sheet()
            self._row += 1
            self._done += 1
            cells = [
                self._cell(column, value, f"{letters}{self._row}")
                for column, letters, value in zip(self._columns, self._letters, values, strict=True)
                if value is not None
            ]
            block.append(f'<row r="{self._row}">{"".join(cells)}</row>')
            if len(block) >= _BLOCK:
                self._put("".join(block))
                block.clear()
        self._put("".join(block))

    def __enter__(self) -> Book:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._stream.sink = None  # nobody is offered half a workbook
        self._close_sheet()
        for name, content in parts.frame(title=self._title, sheets=self.sheets).items():
            self._zip.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
        self._zip.close()

    def _open_sheet(self) -> None:
        self.sheets += 1
        self._sheet = self._zip.open(f"xl/worksheets/sheet{self.sheets}.xml", "w")
        self._row, self._bytes = 1, 0
        names = [
            f"{column.name} ({self._zone.key})" if column.kind is Kind.INSTANT else column.name
            for column in self._columns
        ]
        cells = [
            _text(f"{letters}1", parts.HEADER, self._storable(name))
            for letters, name in zip(self._letters, names, strict=True)
        ]
        self._put(parts.sheet_head(len(names)) + f'<row r="1">{"".join(cells)}</row>')

    def _close_sheet(self) -> None:
        self._put(parts.SHEET_TAIL)
        self._sheet.close()

    def _put(self, xml: str) -> None:
        data = xml.encode("utf-8")
        self._bytes += len(data)
        self._sheet.write(data)

    def _cell(self, column: Column, value: Any, at: str) -> str:
        kind = column.kind
        if kind is Kind.TEXT:
            return self._text_cell(column, str(value), at)
        if kind is Kind.BOOLEAN:
            return f'<c r="{at}" t="b"><v>{int(value)}</v></c>'
        if kind is Kind.INTEGER and -_EXACT < value < _EXACT:
            return f'<c r="{at}"><v>{value}</v></c>'
        if kind in (Kind.DECIMAL, Kind.INTEGER):
            number = plain(value, zone=self._zone)
            if fits(number):
                return f'<c r="{at}"><v>{number}</v></c>'
            self._changes.as_text[column.name] = self._changes.as_text.get(column.name, 0) + 1
            return _text(at, parts.TEXT, number)
        found = serial(value, zone=self._zone)
        if found is None:
            return _text(at, parts.TEXT, plain(value, zone=self._zone))
        return f'<c r="{at}" s="{parts.STYLES[kind]}"><v>{found}</v></c>'

    def _text_cell(self, column: Column, text: str, at: str) -> str:
        clean = self._storable(text)
        if len(clean) > LONGEST_CELL // 2 and len(clean.encode("utf-16-le")) // 2 > LONGEST_CELL:
            raise Refusal(
                "cell-too-long",
                _("Row %(row)d holds in %(column)s a text longer than the %(limit)d characters of a cell. Choose CSV.")
                % {"row": self._done, "column": column.name, "limit": LONGEST_CELL},
            )
        if column.is_formula and clean.startswith("="):
            return f'<c r="{at}" t="str"><f>{clean[1:].translate(_MARKUP)}</f></c>'
        return _text(at, parts.TEXT, clean)

    def _storable(self, text: str) -> str:
        if text.isascii() and text.isprintable():
            return text
        clean, replaced = _NOT_XML.subn(REPLACEMENT, text)
        self._changes.replaced += replaced
        return clean


def fits(number: str) -> bool:
    """Say whether a spreadsheet's numbers hold this one exactly, as people see it."""
    whole, _point, fraction = number.lstrip("-").partition(".")
    if not (whole.isdigit() and (fraction.isdigit() or not fraction)):
        return False  # NaN and infinity are no numbers there
    digits = (whole + fraction).strip("0")
    return len(digits) <= DIGITS and len(whole) <= 300 and len(fraction) <= 300


def serial(value: date | datetime | time, *, zone: ZoneInfo) -> str | None:
    """Return a spreadsheet's number of the day, the wall time or the time of day; None where it counts wrongly."""
    if isinstance(value, time):
        return _days(
            timedelta(hours=value.hour, minutes=value.minute, seconds=value.second) + value.microsecond * _MICROSECOND
        )
    if isinstance(value, datetime):
        local = value.astimezone(zone) if value.tzinfo is not None else value
        return _days(local.replace(tzinfo=UTC) - _DAY_ZERO) if local.date() >= _FIRST else None
    return str((value - _DAY_ZERO.date()).days) if value >= _FIRST else None


def _days(since: timedelta) -> str:
    whole, rest = divmod(since // _MICROSECOND, _A_DAY)
    # Twelve decimals of a day tell microseconds apart; a float's repr would turn to an exponent.
    return f"{whole}.{(rest * 10**12 + _A_DAY // 2) // _A_DAY:012d}" if rest else str(whole)


def _text(at: str, style: int, text: str) -> str:
    if not text.isalnum():
        text = _ESCAPED_ALREADY.sub("_x005F_", text).translate(_MARKUP)
    return f'<c r="{at}" s="{style}" t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>'


class _Stream:
    """What the ZIP writer needs of a file: it never goes back."""

    def __init__(self, sink: Callable[[bytes], None]) -> None:
        self.sink: Callable[[bytes], None] | None = sink

    def write(self, data: bytes) -> int:
        """Pass the bytes on."""
        if self.sink is not None:
            self.sink(data)
        return len(data)

    def flush(self) -> None:
        """Do nothing: the sink keeps what it has."""
