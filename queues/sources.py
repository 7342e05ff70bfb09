"""What an input of a score reads of an item: a field, an amount, an age, each with its unit and its words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import models
from django.db.models import Case, Expression, F, Func, Q, TextField, Value, When
from django.utils.functional import Promise
from django.utils.translation import ngettext

from backoffice import money

Words = str | Promise
NUMBER = models.DecimalField(max_digits=40, decimal_places=10)
_STILL = "still"  # the unit of an age that does not count for now
_UNITS = {"days": timedelta(days=1), "hours": timedelta(hours=1)}


class Written(Func):
    """An expression written out: `{0}` is the first argument, and may be said more than once."""

    def __init__(self, form: str, *arguments: Any, output_field: models.Field[Any, Any]) -> None:
        super().__init__(*arguments, output_field=output_field)
        self.form = form

    def as_sql(self, compiler: Any, connection: Any, **context: Any) -> tuple[str, list[Any]]:  # type: ignore[override]  # one form for all
        parts = [compiler.compile(argument) for argument in self.get_source_expressions()]
        said = [int(place) for place in re.findall(r"\{(\d+)\}", self.form)]
        return self.form.format(*(sql for sql, _params in parts)), [value for n in said for value in parts[n][1]]


@dataclass(frozen=True)
class Field:
    """A plain field of the item, as a number or a text."""

    field: str

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of the model that the source reads."""
        return (self.field,)

    def value(self, now: datetime) -> Expression | F:
        return F(self.field)

    def unit(self) -> Expression | F:
        return Value("", TextField())

    def scale(self, now: datetime) -> Any:
        """Return what one unit of the rule's thresholds is worth in the value's own; None where they are the same."""
        return None

    def basis(self, now: datetime) -> Any:
        """Return what the scale came from, as JSON stored beside the value; None where there is no scale."""
        return None

    def show(self, value: str, unit: str) -> str:
        """Write the stored value for people in the active language."""
        return value

    def threshold(self, number: int) -> str:
        """Write one of the rule's thresholds for people."""
        return self.show(str(number), "")

    def exception(self) -> str:
        """Say when the value does not count, or nothing."""
        return ""

    def note(self, stored: Mapping[str, Any], *, today: date | None, stale_days: int) -> str:
        """Say what is wrong with the stored value, on a day: no rate, an old one."""
        return ""

    def origin(self, stored: Mapping[str, Any]) -> str:
        """Say what else the points came from: the rate, its source and its day."""
        return ""


@dataclass(frozen=True)
class Money(Field):
    """An amount beside its currency. Amounts of different currencies never compare as bare numbers."""

    currency: str = "currency"

    @property
    def fields(self) -> tuple[str, ...]:
        return (self.field, self.currency)

    def unit(self) -> Expression | F:
        return F(self.currency)

    def show(self, value: str, unit: str) -> str:
        return money.show(Decimal(value), unit)


@dataclass(frozen=True)
class Age(Field):
    """How long ago an instant was, in whole units: a score changes once a unit, not each second.

    `stands_still` is a condition in which the age does not count at all; `still_text` says why.
    """

    per: str = "days"
    stands_still: Q | None = None
    still_text: Words = ""

    @property
    def fields(self) -> tuple[str, ...]:
        return (self.field, *(fields_of(self.stands_still) if self.stands_still is not None else ()))

    def unit(self) -> Expression | F:
        if self.stands_still is None:
            return Value("", TextField())
        return Case(When(self.stands_still, then=Value(_STILL)), default=Value(""), output_field=TextField())

    def value(self, now: datetime) -> Any:
        aged = self._aged(now)
        if self.stands_still is None:
            return aged
        return Case(When(self.stands_still, then=Value(0, NUMBER)), default=aged, output_field=NUMBER)

    def _aged(self, now: datetime) -> Expression:
        instant = Value(now, models.DateTimeField())
        seconds = Value(int(_UNITS[self.per].total_seconds()))
        return Written(
            "floor(extract(epoch from {0}::timestamptz - {1}) / {2})",
            instant,
            F(self.field),
            seconds,
            output_field=NUMBER,
        )

    def exception(self) -> str:
        return str(self.still_text)

    def show(self, value: str, unit: str) -> str:
        if unit == _STILL:
            return str(self.still_text)
        count = max(int(Decimal(value)), 0)
        if self.per == "hours":
            return ngettext("%(count)d hour old", "%(count)d hours old", count) % {"count": count}
        return ngettext("%(count)d day old", "%(count)d days old", count) % {"count": count}


def fields_of(condition: Q) -> tuple[str, ...]:
    """Return the fields of the model that a condition reads."""
    return tuple(sorted({str(leaf[0]).partition("__")[0] for leaf in _leaves(condition)}))


def _leaves(condition: Q) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for child in condition.children:
        found.extend(_leaves(child) if isinstance(child, Q) else [child])  # type: ignore[list-item]  # a leaf is a pair
    return found
