"""The inputs of a score: each is a value of the item, the points it gives, and words for both.

An input is written once and used twice: as an ORM expression in the one statement that scores a set
of rows, and as words beside the stored value. The arithmetic is exact: numeric in the database,
halves rounded up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.db import models
from django.db.models import Case, Q, TextField, Value, When
from django.db.models.functions import Cast
from django.utils.translation import gettext as _

from backoffice import money
from queues.sources import Field, Money, Words, Written, fields_of

WHOLE = models.IntegerField()


@dataclass(frozen=True)
class Input:
    """One input of a rule. `name` is stored beside the score."""

    name: str

    @property
    def most(self) -> int:
        """The points this input can give at most."""
        raise NotImplementedError

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of the model that the input reads."""
        raise NotImplementedError

    def value(self, now: datetime) -> Any:
        """Return the value as an ORM expression, stored as text."""
        raise NotImplementedError

    def unit(self) -> Any:
        """Return the value's unit as an ORM expression: a currency, or nothing."""
        return Value("", TextField())

    def basis(self, now: datetime) -> Any:
        """Return what else the points come from, as a JSON expression; None where there is nothing else."""
        return None

    def points_sql(self, now: datetime) -> Any:
        """Return the points as an ORM expression: a whole number, never null."""
        raise NotImplementedError

    def words(self, value: str, unit: str, points: int) -> str:
        """Write the stored value for people in the active language."""
        raise NotImplementedError

    def note(self, stored: Mapping[str, Any], *, today: date | None, stale_days: int) -> str:
        """Say what is wrong with the stored value on a day, or nothing."""
        return ""

    def origin(self, stored: Mapping[str, Any]) -> str:
        """Say what else the stored points came from, or nothing."""
        return ""

    def rule_words(self) -> str:
        """Say how the input gives its points, in the active language."""
        raise NotImplementedError

    def said(self, points: int) -> bool:
        """Say whether the sentence names this input."""
        return True

    def problems(self) -> list[str]:
        """Return what is wrong with how the input is declared."""
        return []


@dataclass(frozen=True)
class _OfSource(Input):
    """An input over one source."""

    source: Field

    @property
    def fields(self) -> tuple[str, ...]:
        return self.source.fields

    def value(self, now: datetime) -> Any:
        return self.source.value(now)

    def unit(self) -> Any:
        return self.source.unit()

    def basis(self, now: datetime) -> Any:
        return self.source.basis(now)

    def words(self, value: str, unit: str, points: int) -> str:
        return self.source.show(value, unit)

    def note(self, stored: Mapping[str, Any], *, today: date | None, stale_days: int) -> str:
        return self.source.note(stored, today=today, stale_days=stale_days)

    def origin(self, stored: Mapping[str, Any]) -> str:
        return self.source.origin(stored)


@dataclass(frozen=True)
class Ramp(_OfSource):
    """Points that rise evenly from 0 to `points` as the value goes from 0 to `full_at`.

    `full_at` is a number; for Money, a number per currency. A currency without one gives 0 points
    and says so: it is never taken as if it were worth the same as another.
    """

    full_at: int | Mapping[str, int]
    points: int

    @property
    def most(self) -> int:
        return self.points

    def points_sql(self, now: datetime) -> Any:
        if not isinstance(self.full_at, Mapping):
            return self._share(now, self.full_at)
        unit = self.source.fields[-1]
        shares = [When(Q(**{unit: code}), then=self._share(now, full)) for code, full in sorted(self.full_at.items())]
        return Case(*shares, default=Value(0), output_field=WHOLE)

    def _share(self, now: datetime, full: int) -> Any:
        # Whole-number division of doubled terms: the exact value rounded half up, with no quotient cut short.
        # For the same reason the threshold is converted and not the value: that would divide.
        if (scale := self.source.scale(now)) is not None:
            capped = "least(greatest({0}::numeric, 0), {2} * {3})"
            form = f"coalesce(div(2 * {{1}} * {capped} + {{2}} * {{3}}, 2 * {{2}} * {{3}}), 0)::int"
            return Written(form, self.source.value(now), Value(self.points), Value(full), scale, output_field=WHOLE)
        form = "div(2 * {1} * least(greatest({0}::numeric, 0), {2}) + {2}, 2 * {2})::int"
        return Written(form, self.source.value(now), Value(self.points), Value(full), output_field=WHOLE)

    def words(self, value: str, unit: str, points: int) -> str:
        shown = self.source.show(value, unit)
        if isinstance(self.full_at, Mapping) and unit not in self.full_at:
            return _("%(amount)s, no reference for %(currency)s") % {"amount": shown, "currency": unit}
        return shown

    def problems(self) -> list[str]:
        found = _whole_points(self.points)
        values = list(self.full_at.values()) if isinstance(self.full_at, Mapping) else [self.full_at]
        if not values or any(value <= 0 for value in values):
            found.append("full_at must be above 0")
        if isinstance(self.source, Money) != isinstance(self.full_at, Mapping):
            found.append("full_at is a number per currency exactly where the source is Money")
        return found

    def rule_words(self) -> str:
        if isinstance(self.full_at, Mapping):
            full = ", ".join(money.show(Decimal(value), code) for code, value in sorted(self.full_at.items()))
        else:
            full = self.source.threshold(self.full_at)
        said = _("0 to %(points)d points, rising evenly up to %(full)s") % {"points": self.points, "full": full}
        return "; ".join(filter(None, (said, self.source.exception())))


@dataclass(frozen=True)
class Step(_OfSource):
    """The points of the highest threshold that the value reaches: ((threshold, points), ...), rising."""

    steps: tuple[tuple[int, int], ...]

    @property
    def most(self) -> int:
        return max(points for _threshold, points in self.steps)

    def points_sql(self, now: datetime) -> Any:
        value, scale = self.source.value(now), self.source.scale(now)
        form, more = ("{0}::numeric >= {1}", ()) if scale is None else ("{0}::numeric >= {1} * {2}", (scale,))
        reached = [
            When(Written(form, value, Value(threshold), *more, output_field=models.BooleanField()), then=points)
            for threshold, points in sorted(self.steps, reverse=True)
        ]
        return Case(*reached, default=Value(0), output_field=WHOLE)

    def problems(self) -> list[str]:
        found = _whole_points(*(points for _threshold, points in self.steps))
        if not self.steps or list(self.steps) != sorted(self.steps):
            found.append("steps must be there and rise")
        if isinstance(self.source, Money):
            found.append("a step cannot read Money: its thresholds would mix currencies")
        return found

    def rule_words(self) -> str:
        steps = [
            _("%(points)d from %(value)s") % {"points": points, "value": self.source.threshold(value)}
            for value, points in self.steps
        ]
        said = _("points in steps: %(steps)s") % {"steps": ", ".join(steps)}
        return "; ".join(filter(None, (said, self.source.exception())))


@dataclass(frozen=True)
class Flag(Input):
    """`points` where a condition holds, else none; `text` says what holds."""

    when: Q
    points: int
    text: Words

    @property
    def most(self) -> int:
        return self.points

    @property
    def fields(self) -> tuple[str, ...]:
        return fields_of(self.when)

    def value(self, now: datetime) -> Any:
        return Case(When(self.when, then=Value("true")), default=Value("false"), output_field=TextField())

    def points_sql(self, now: datetime) -> Any:
        return Case(When(self.when, then=Value(self.points)), default=Value(0), output_field=WHOLE)

    def words(self, value: str, unit: str, points: int) -> str:
        return str(self.text) if points else _("not: %(text)s") % {"text": self.text}

    def said(self, points: int) -> bool:
        return points > 0

    def problems(self) -> list[str]:
        return _whole_points(self.points)

    def rule_words(self) -> str:
        return _("%(points)d points for: %(text)s") % {"points": self.points, "text": self.text}


@dataclass(frozen=True)
class Lookup(_OfSource):
    """The points that a table gives to the value; `default` for one that it does not name."""

    table: Mapping[str, int]
    default: int = 0

    @property
    def most(self) -> int:
        return max(self.default, *self.table.values())

    def points_sql(self, now: datetime) -> Any:
        value = Cast(self.source.value(now), TextField())
        found = [
            When(Written("{0} = {1}", value, Value(name), output_field=models.BooleanField()), then=points)
            for name, points in sorted(self.table.items())
        ]
        return Case(*found, default=Value(self.default), output_field=WHOLE)

    def said(self, points: int) -> bool:
        return points > 0

    def problems(self) -> list[str]:
        return _whole_points(*self.table.values(), self.default) + ([] if self.table else ["the table is empty"])

    def rule_words(self) -> str:
        table = ", ".join(f"{name}: {points}" for name, points in sorted(self.table.items()))
        return _("points by value: %(table)s; otherwise %(default)d") % {"table": table, "default": self.default}


def _whole_points(*points: int) -> list[str]:
    return [] if all(isinstance(p, int) and p >= 0 for p in points) else ["points must be whole and not negative"]
