"""A workbook holds what the rows hold: typed, unrounded, and never a formula."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backoffice.errors import Refusal
from exports.columns import Column, Kind
from exports.encoders import csv, parts, xlsx
from exports.encoders.changes import Changes
from tests.making_books import Sheet, read_book

HOSTILE = Path(__file__).resolve().parents[3] / "shared" / "data" / "hostile-strings"
BERLIN = ZoneInfo("Europe/Berlin")
TEXT = Column("note", Kind.TEXT)


def written(
    columns: Sequence[Column], *rows: Sequence[Any], zone: ZoneInfo = BERLIN, title: str = "Rows"
) -> tuple[list[Sheet], Changes]:
    data, changes = bytearray(), Changes()
    with xlsx.Book(columns, title=title, zone=zone, sink=data.extend, changes=changes) as book:
        book.write(rows)
    return read_book(bytes(data)), changes


def cell(kind: Kind, value: Any, *, zone: ZoneInfo = BERLIN) -> tuple[Any, str]:
    (sheet,), _changes = written([Column("c", kind)], [value], zone=zone)
    return (sheet.rows[1] or [None])[0], (sheet.types[1] or [""])[0]


@pytest.mark.case("EX-07")
@pytest.mark.parametrize(
    "text",
    ["=A1=B1", "a=b", "-2+3+cmd|' /C calc'!A1", "@x", "＝1+1", "'=1", "\t=1", "00123", "1e5", "TRUE", "#N/A", ""],
)
def test_text_stays_text_with_every_character_of_it(text: str) -> None:
    assert cell(Kind.TEXT, text) == (text, "inlineStr")


@pytest.mark.case("EX-06")
@pytest.mark.parametrize(
    "number", ["0.001", "0.006", "12.345", "-75.63", "0.1", "1234567890123.45", "1E+3", "0E-8", "-0.00"]
)
def test_numbers_are_stored_as_they_are(number: str) -> None:
    value, kind = cell(Kind.DECIMAL, Decimal(number))
    assert kind == "n" and value == Decimal(number)
    assert value or not value.is_signed()


@pytest.mark.parametrize(
    "number", ["1234567890123456.78", "0.1234567890123456", "NaN", "Infinity", "1E+400", "1.5E-320"]
)
def test_a_number_that_a_spreadsheet_would_round_is_text_and_counted(number: str) -> None:
    (sheet,), changes = written([Column("amount", Kind.DECIMAL)], [Decimal(number)])
    assert sheet.types[1] == ["inlineStr"] and changes.as_text == {"amount": 1}
    assert sheet.rows[1] == [csv.plain(Decimal(number), zone=BERLIN)]
    assert cell(Kind.INTEGER, 2**63 - 1) == ("9223372036854775807", "inlineStr")
    assert cell(Kind.INTEGER, 10**20) == (Decimal(10**20), "n")  # two digits that count


@pytest.mark.case("EX-01")
def test_times_with_a_zone_stand_in_the_tenants_and_the_header_names_it() -> None:
    columns = [Column("opened_at", Kind.INSTANT), Column("at", Kind.TIME), Column("local", Kind.WALL_TIME)]
    at = datetime(2024, 11, 5, 10, tzinfo=UTC)
    (sheet,), _changes = written(columns, [at, time(10, 0, tzinfo=UTC), datetime(2024, 11, 5, 10)])
    assert sheet.rows == [
        ["opened_at (Europe/Berlin)", "at", "local"],
        [datetime(2024, 11, 5, 11), time(10, 0), datetime(2024, 11, 5, 10)],
    ]


@pytest.mark.case("RP-01")
@pytest.mark.parametrize("zone", ["Europe/Sofia", "UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago"])
def test_a_date_is_that_date_in_every_zone(zone: str) -> None:
    assert cell(Kind.DATE, date(2021, 1, 25), zone=ZoneInfo(zone)) == (date(2021, 1, 25), "n")


def test_what_a_spreadsheets_calendar_gets_wrong_is_text() -> None:
    assert cell(Kind.DATE, date(1900, 2, 28)) == ("1900-02-28", "inlineStr")
    assert cell(Kind.DATE, date(1900, 3, 1)) == (date(1900, 3, 1), "n")
    assert cell(Kind.DATE, date(9999, 12, 31)) == (date(9999, 12, 31), "n")
    value, kind = cell(Kind.INSTANT, datetime(1899, 1, 1, tzinfo=UTC))
    assert (value, kind) == ("1899-01-01T01:00:00.000000+01:00", "inlineStr")


@given(st.datetimes(min_value=datetime(1900, 3, 2), max_value=datetime(9999, 12, 30)))
def test_a_moment_comes_back_to_the_millisecond(moment: datetime) -> None:
    number = xlsx.serial(moment, zone=BERLIN)
    assert number is not None and "E" not in number
    back = datetime(1899, 12, 30) + timedelta(days=float(number))
    assert abs(back - moment) < timedelta(milliseconds=1)


def test_what_xml_cannot_hold_is_replaced_and_counted_and_line_ends_stay() -> None:
    text = "a\x00b\x0b\ud800\uffff<&>\"'\r\n\t_x000D_ 😀\u202e"
    (sheet,), changes = written([TEXT], [text])
    assert sheet.rows[1] == ["a\ufffdb\ufffd\ufffd\ufffd<&>\"'\r\n\t_x000D_ 😀\u202e"]
    assert changes.replaced == 4


@pytest.mark.skipif(not HOSTILE.is_dir(), reason="the files of hostile strings are not on this machine")
def test_every_hostile_string_comes_back_as_text() -> None:
    texts = [t for t in json.loads((HOSTILE / "blns.json").read_text(encoding="utf-8")) if len(t) < 30_000]
    texts += (HOSTILE / "Intruder" / "csv-payload.txt").read_text(encoding="utf-8").splitlines()
    (sheet,), _changes = written([TEXT], *[[text] for text in texts])
    replaced = [xlsx._NOT_XML.sub("\ufffd", text) for text in texts]
    assert [row[0] for row in sheet.rows[1:]] == replaced
    assert {kind for row in sheet.types for kind in row} == {"inlineStr"}


@pytest.mark.parametrize(("text", "fits"), [("x" * 32_767, True), ("x" * 32_768, False), ("😀" * 16_384, False)])
def test_a_text_longer_than_a_cell_refuses_the_file_and_names_row_and_column(text: str, fits: bool) -> None:
    if fits:
        assert written([TEXT], ["a"], [text])[0][0].rows[2] == [text]
        return
    with pytest.raises(Refusal, match=r"Row 2 holds in note a text longer than the 32767 characters") as refused:
        written([TEXT], ["a"], [text])
    assert refused.value.code == "cell-too-long"


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Payouts", "Payouts"),
        ("'Q1' [Jan]: a/b\\c*?", "Q1' Jan a b c"),
        ("x" * 40, "x" * 31),
        ("😀" * 20, "😀" * 15),
        ("History", "Rows"),
        ("", "Rows"),
        ("a\x00b\n", "a b"),
        ("<&>", "<&>"),
    ],
)
def test_a_sheet_has_a_name_that_a_spreadsheet_takes(title: str, name: str) -> None:
    assert written([TEXT], title=title)[0][0].name == name


def test_past_a_sheets_end_the_next_one_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xlsx, "SHEET_ROWS", 5)
    sheets, _changes = written([Column("=n", Kind.INTEGER)], *[[n] for n in range(9)], title="x" * 31)
    assert [sheet.name for sheet in sheets] == ["x" * 31, "x" * 29 + " 2", "x" * 29 + " 3"]
    assert [sheet.rows[0] for sheet in sheets] == [["=n"]] * 3
    assert [row[0] for sheet in sheets for row in sheet.rows[1:]] == list(range(9))
    monkeypatch.setattr(xlsx, "SHEET_BYTES", 1)
    assert [sheet.rows[1:] for sheet in written([TEXT], ["a"], ["b"])[0]] == [[], [["a"]], [["b"]]]


def test_nothing_is_no_cell_and_a_formula_is_one_only_where_its_column_means_it() -> None:
    columns = [TEXT, Column("sum", Kind.TEXT, is_formula=True), Column("ok", Kind.BOOLEAN)]
    (sheet,), _changes = written(columns, [None, "=A1*2", True], ["", "plain", None])
    assert sheet.rows[1] == [None, "=A1*2", True] and sheet.types[1] == ["", "str", "b"]
    assert sheet.rows[2] == ["", "plain", None]


def test_columns_are_lettered_past_z() -> None:
    assert [parts.letters(at) for at in (0, 25, 26, 701, 702)] == ["A", "Z", "AA", "ZZ", "AAA"]
    columns = [Column(f"c{at}", Kind.INTEGER) for at in range(800)]
    (sheet,), _changes = written(columns, range(800))
    assert sheet.rows[1] == list(range(800))
