"""Amounts are Decimals with their currency's digits: never floats, never rounded in silence."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest

from backoffice import money
from backoffice.errors import Refusal

VECTORS = Path(__file__).resolve().parents[3] / "shared" / "data" / "money"
needs_vectors = pytest.mark.skipif(not VECTORS.exists(), reason="the folder of real files is not here")


@needs_vectors
def test_minor_digits_equal_iso_4217() -> None:
    known = json.loads((VECTORS / "minor-digits.json").read_text(encoding="utf-8"))
    with_minor = {currency: digits for currency, digits in known.items() if digits is not None}
    assert {currency: money.minor_digits(currency) for currency in with_minor} == with_minor
    assert frozenset(with_minor) == money.CURRENCIES


@needs_vectors
def test_amounts_go_to_the_minor_unit_and_back_exactly() -> None:
    rows = [json.loads(line) for line in (VECTORS / "format.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 180
    for row in rows:
        amount = Decimal(row["major"])
        assert money.to_minor(amount, row["currency"]) == row["minor"], row
        assert f"{money.exact(amount, row['currency']):f}" == row["major"], row


@pytest.mark.case("BM-06", "BM-07")
@pytest.mark.parametrize(
    ("amount", "currency", "minor"),
    [("10000", "JPY", 10_000), ("9899", "JPY", 9_899), ("58.00", "USD", 5_800), ("1.234", "KWD", 1_234)],
)
def test_a_currency_without_cents_is_not_divided_or_multiplied(amount: str, currency: str, minor: int) -> None:
    assert money.to_minor(Decimal(amount), currency) == minor


@pytest.mark.parametrize(
    ("amount", "currency"), [("1.005", "EUR"), ("0.5", "JPY"), ("1.2345", "KWD"), ("NaN", "EUR"), ("1E+40", "EUR")]
)
def test_an_amount_its_currency_cannot_hold_is_refused(amount: str, currency: str) -> None:
    with pytest.raises(Refusal):
        money.exact(Decimal(amount), currency)


def test_sums_stay_exact() -> None:
    amounts = [Decimal(a) for a in ("19.99", "1.15", "4.35", "8.41")]
    assert sum(amounts) == Decimal("33.90")
    assert [money.to_minor(a, "EUR") for a in amounts] == [1999, 115, 435, 841]


@pytest.mark.parametrize(
    ("amount", "currency", "text"),
    [
        ("1900", "EUR", "EUR 1,900.00"),
        ("9899.0000", "JPY", "JPY 9,899"),
        ("-0.5", "KWD", "KWD -0.500"),
        ("123456789012345678", "JPY", "JPY 123,456,789,012,345,678"),
    ],
)
def test_amounts_are_shown_with_their_digits(amount: str, currency: str, text: str) -> None:
    assert money.show(Decimal(amount), currency) == text
