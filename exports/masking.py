"""What a file holds in place of a stored value: the last four of what is sensitive, money with its own decimals.

Both are done by the database: a column of the file then reads an expression in place of its field, and the
contract, its name and its kind, stays what it is. No expression binds a value: rendering writes it several times.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.db.models import DecimalField, F, Func, IntegerField, QuerySet, TextField
from django.db.models.functions import Cast, Greatest

from backoffice import money
from exports.columns import Column

DOTS = "••••"
LAST = 4


def shown(
    rows: QuerySet[Any], columns: tuple[Column, ...], *, masked: frozenset[str], amounts: Mapping[str, str]
) -> tuple[QuerySet[Any], tuple[Column, ...]]:
    """Return the rows and the columns to write; `amounts` names the currency that stands beside each amount."""
    instead: dict[str, Any] = {}
    written = []
    for column in columns:
        expression = (
            _masked(column.source)
            if column.name in masked
            else _with_own_decimals(column.source, amounts[column.name])
            if column.name in amounts
            else None
        )
        if expression is not None:
            instead[f"shown_{column.name}"] = expression
            column = replace(column, source=f"shown_{column.name}")
        written.append(column)
    return rows.annotate(**instead), tuple(written)


class _LastFour(Func):
    """Keep the last four characters of a longer text; of a short one, nothing."""

    output_field = TextField()
    template = (
        f"CASE WHEN length(%(expressions)s) > {LAST} THEN '{DOTS}' || right(%(expressions)s, {LAST})"
        f" WHEN %(expressions)s <> '' THEN '{DOTS}' ELSE %(expressions)s END"
    )


class _Digits(Func):
    """Say how many decimals a currency has."""

    output_field = IntegerField()
    template = "CASE {} ELSE 2 END".format(
        " ".join(f"WHEN %(expressions)s = '{code}' THEN {digits}" for code, digits in money.MINOR_DIGITS.items())
    )


def _masked(source: str) -> Any:
    return _LastFour(Cast(F(source), TextField()))


def _with_own_decimals(source: str, currency: str) -> Any:
    """Write EUR with two decimals, JPY with none, KWD with three; a value that has more keeps them all."""
    needed = Func(Func(F(source), function="trim_scale"), function="scale", output_field=IntegerField())
    digits = Greatest(_Digits(F(currency)), needed)
    return Func(F(source), digits, function="round", output_field=DecimalField(max_digits=20, decimal_places=4))
