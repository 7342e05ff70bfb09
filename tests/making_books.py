"""Read a workbook as the standard describes it, with nothing of the product's."""

from __future__ import annotations

import io
import re
import zipfile
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from xml.etree import ElementTree

_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_REL = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_UNESCAPE = re.compile("_x([0-9A-Fa-f]{4})_")


@dataclass(frozen=True)
class Sheet:
    """A sheet's name, its rows of values, and the cell types ("n", "b", "inlineStr", "str") in the same places."""

    name: str
    rows: list[list[Any]]
    types: list[list[str]]

    def records(self) -> list[dict[str, Any]]:
        """Return the rows below the header by the header's names."""
        return [dict(zip(self.rows[0], row, strict=True)) for row in self.rows[1:]]


def read_book(data: bytes) -> list[Sheet]:
    """Return every sheet in the order in which the workbook lists them."""
    with zipfile.ZipFile(io.BytesIO(data)) as book:
        assert book.testzip() is None
        codes = _formats(book)
        related = {one.get("Id"): one.get("Target") for one in _parsed(book, "xl/_rels/workbook.xml.rels")}
        listed = _parsed(book, "xl/workbook.xml").iter(f"{_MAIN}sheet")
        return [_sheet(book, str(one.get("name")), f"xl/{related[one.get(_REL)]}", codes) for one in listed]


def _parsed(book: zipfile.ZipFile, name: str) -> ElementTree.Element:
    return ElementTree.fromstring(book.read(name))  # noqa: S314  (a file that the product wrote)


def _formats(book: zipfile.ZipFile) -> list[str]:
    styles = _parsed(book, "xl/styles.xml")
    own = {one.get("numFmtId"): one.get("formatCode") for one in styles.iter(f"{_MAIN}numFmt")}
    listed = styles.find(f"{_MAIN}cellXfs")
    assert listed is not None
    return [str(own.get(one.get("numFmtId"), "")) for one in listed]


def _sheet(book: zipfile.ZipFile, name: str, place: str, codes: list[str]) -> Sheet:
    rows: list[list[Any]] = []
    types: list[list[str]] = []
    with book.open(place) as xml:
        for _event, row in ElementTree.iterparse(xml):  # noqa: S314  (a file that the product wrote)
            if row.tag != f"{_MAIN}row":
                continue
            values: dict[int, Any] = {}
            kinds: dict[int, str] = {}
            for cell in row:
                at = _column(str(cell.get("r")))
                values[at], kinds[at] = _value(cell, codes), str(cell.get("t", "n"))
            width = max(len(rows[0]) if rows else 0, *[at + 1 for at in values], 0)
            rows.append([values.get(at) for at in range(width)])
            types.append([kinds.get(at, "") for at in range(width)])
            row.clear()
    return Sheet(name, rows, types)


def _value(cell: Any, codes: list[str]) -> Any:
    kind = cell.get("t", "n")
    if kind == "inlineStr":
        text = "".join(one.text or "" for one in cell.iter(f"{_MAIN}t"))
        return _UNESCAPE.sub(lambda found: chr(int(found[1], 16)), text)
    if kind == "str":
        return "=" + (cell.findtext(f"{_MAIN}f") or "")
    text = cell.findtext(f"{_MAIN}v")
    if kind == "b":
        return text == "1"
    code = codes[int(cell.get("s", 0))]
    if "y" in code or "h" in code:
        moment = datetime(1899, 12, 30) + timedelta(days=float(text))
        moment = (moment + timedelta(microseconds=500)).replace(microsecond=0)
        if "y" not in code:
            return moment.time()
        return moment if "h" in code else _whole_day(text, moment.date())
    return Decimal(text)


def _whole_day(text: str, day: date) -> date | time:
    assert float(text).is_integer(), "a date has no time part"
    return day


def _column(reference: str) -> int:
    number = 0
    for letter in re.match("[A-Z]+", reference)[0]:  # type: ignore[index]  # every reference begins with letters
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1
