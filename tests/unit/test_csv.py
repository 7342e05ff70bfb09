"""CSV that a standard reader gets back unchanged, and that no spreadsheet runs."""

from __future__ import annotations

import csv as standard
import io
import json
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exports.columns import Column, Kind
from exports.encoders import csv, escaping

HOSTILE = Path(__file__).resolve().parents[3] / "shared" / "data" / "hostile-strings"
UTC_ZONE = ZoneInfo("UTC")
TEXT = Column("note", Kind.TEXT)


def hostile_strings() -> Iterator[str]:
    yield from json.loads((HOSTILE / "blns.json").read_text(encoding="utf-8"))
    yield from (HOSTILE / "blns.txt").read_text(encoding="utf-8").splitlines()
    yield from (HOSTILE / "Intruder" / "csv-payload.txt").read_text(encoding="utf-8").splitlines()


def write(value: object, column: Column = TEXT, zone: ZoneInfo = UTC_ZONE) -> str | None:
    return csv.cell(column, value, zone=zone, changes=csv.Changes())


def read_back(text: str) -> list[list[str]]:
    return list(standard.reader(io.StringIO(text, newline="")))


@pytest.mark.case("EC-01")
@pytest.mark.proves("jobs#escape-formula-leading-export-values")
@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "-2+3+cmd|' /C calc'!A1",
        "@x",
        "-",
        "+44 20 7946 0000",
        "＝1+1",
        "＋1",
        "－1",
        "＠x",
        "  =1+1",
        "\u00a0=1+1",
        "\u3000=1+1",
        "\ufeff=1+1",
        "\u200b=1+1",
        "\n=1+1",
        "\tx",
        "\rx",
        "\nx",
        "'=1+1",
        "''@x",
    ],
)
def test_text_that_leads_a_formula_gets_an_apostrophe_and_comes_back(text: str) -> None:
    assert write(text) == "'" + text
    assert escaping.restore("'" + text) == text


@pytest.mark.parametrize("text", ["", "a=b", "a", "1-2", "x@y", "O'Brien", "'quoted'", "'", " a", "€5", "张三", "Łýź"])
def test_other_text_is_left_as_it_is(text: str) -> None:
    assert write(text) == text
    assert escaping.restore(text) == text


@pytest.mark.case("EC-01", "RP-01")
@pytest.mark.proves("jobs#escape-formula-leading-export-values")
def test_numbers_and_dates_are_never_escaped() -> None:
    assert write(Decimal("-75.63"), Column("amount", Kind.DECIMAL)) == "-75.63"
    assert write(-3, Column("count", Kind.INTEGER)) == "-3"
    assert write(date(2021, 1, 25), Column("day", Kind.DATE), ZoneInfo("Europe/Sofia")) == "2021-01-25"


@pytest.mark.proves("jobs#escape-formula-leading-export-values")
def test_a_column_that_means_a_formula_keeps_it_and_a_header_never_is_one() -> None:
    assert write("=A1*2", Column("formula", Kind.TEXT, is_formula=True)) == "=A1*2"
    assert csv.head([Column("=x", Kind.DECIMAL)], encoding="utf-8") == b"'=x\n"


@pytest.mark.case("EC-07")
@pytest.mark.parametrize(
    ("value", "written"),
    [
        (Decimal("0").quantize(Decimal("1E-8")), "0.00000000"),
        (Decimal("1E+3"), "1000"),
        (Decimal("0.00"), "0.00"),
        (Decimal("1234567890123456.78"), "1234567890123456.78"),
        (True, "true"),
    ],
)
def test_numbers_are_plain(value: object, written: str) -> None:
    assert csv.plain(value, zone=UTC_ZONE) == written


def test_an_instant_is_written_in_the_zone_with_its_offset() -> None:
    at = datetime(2020, 11, 3, 17, tzinfo=UTC)
    assert csv.plain(at, zone=ZoneInfo("Asia/Bangkok")) == "2020-11-04T00:00:00.000000+07:00"
    assert csv.plain(at, zone=UTC_ZONE) == "2020-11-03T17:00:00.000000+00:00"


@pytest.mark.proves("jobs#define-export-encoding-and-columns")
def test_the_encoding_for_people_begins_with_its_mark_and_the_other_does_not() -> None:
    columns = [Column("name", Kind.TEXT), TEXT]
    assert csv.head(columns, encoding="utf-8-sig") == b"\xef\xbb\xbfname,note\n"
    assert csv.head(columns, encoding="utf-8") == b"name,note\n"
    assert csv.head(columns, encoding="utf-8-sig").decode("utf-8-sig") == "name,note\n"


@pytest.mark.case("EC-04")
@pytest.mark.parametrize("text", ["value1\r", "a\n b", "a\r\nb", 'say "x"', "a,b", "", " a "])
def test_breaks_and_quotes_survive_a_standard_reader(text: str) -> None:
    assert read_back(csv.line([text, "value2"])) == [[text, "value2"]]


def test_nothing_and_an_empty_text_differ() -> None:
    assert csv.line([None, ""]) == ',""\n'


@pytest.mark.case("EC-04")
def test_nul_and_lone_surrogates_are_replaced_and_counted() -> None:
    changes = csv.Changes()
    assert csv.cell(TEXT, "a\x00b\ud800", zone=UTC_ZONE, changes=changes) == "a\ufffdb\ufffd"
    assert changes.replaced == 2


@pytest.mark.proves("jobs#escape-formula-leading-export-values")
@pytest.mark.skipif(not HOSTILE.is_dir(), reason="the files of hostile strings are not on this machine")
def test_every_hostile_string_comes_back_and_none_leads_a_formula() -> None:
    texts = [text.replace("\x00", "\ufffd") for text in hostile_strings()]
    assert len(texts) > 1_000
    lines = "".join(csv.line([write(text), "end"]) for text in texts)
    cells = read_back(lines.encode("utf-8").decode("utf-8"))
    assert [escaping.restore(row[0]) for row in cells] == texts
    assert all(row[1] == "end" for row in cells)
    assert not [row[0] for row in cells if row[0].lstrip()[:1] in set("=+-@＝＋－＠") | {"\t", "\r", "\n"} - {""}]


@given(st.text(alphabet=st.sampled_from("'=+-@＝ \t\r\n,\"a1\u3000\ufeff")))
def test_escaping_is_exact_for_every_text(text: str) -> None:
    assert escaping.restore(escaping.escape(text)) == text
    assert escaping.restore(read_back(csv.line([escaping.escape(text), "x"]))[0][0]) == text
