"""What a person may narrow an export or a report by: typed fields that become bound conditions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db.models import Q
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

Words = str | Promise


@dataclass(frozen=True)
class Filter:
    """One filter: the form fields it asks for, and the condition their values make."""

    field: str
    label: Words

    def fields(self) -> dict[str, forms.Field]:
        """Return the form fields by name."""
        raise NotImplementedError

    def condition(self, values: Mapping[str, Any], *, zone: ZoneInfo) -> Q:
        """Return the condition; an empty one when nothing was asked for."""
        raise NotImplementedError


@dataclass(frozen=True)
class Choice(Filter):
    """One of the given values, or any."""

    choices: tuple[tuple[str, Words], ...] = ()

    def fields(self) -> dict[str, forms.Field]:
        any_of = [("", _("any")), *self.choices]
        return {self.field: forms.ChoiceField(label=str(self.label), choices=any_of, required=False)}

    def condition(self, values: Mapping[str, Any], *, zone: ZoneInfo) -> Q:
        return Q(**{self.field: values[self.field]}) if values.get(self.field) else Q()


@dataclass(frozen=True)
class Currency(Filter):
    """A currency's three letters, or any."""

    def fields(self) -> dict[str, forms.Field]:
        return {
            self.field: forms.RegexField(
                r"^[A-Za-z]{3}$",
                label=str(self.label),
                required=False,
                max_length=3,
                widget=forms.TextInput(attrs={"size": 4, "autocomplete": "off"}),
                error_messages={"invalid": _("A currency is three letters, such as EUR.")},
            )
        }

    def condition(self, values: Mapping[str, Any], *, zone: ZoneInfo) -> Q:
        return Q(**{self.field: str(values[self.field]).upper()}) if values.get(self.field) else Q()


@dataclass(frozen=True)
class Day(Filter):
    """One day, which must be named. A report binds it itself."""

    def fields(self) -> dict[str, forms.Field]:
        return {self.field: _day_field(self.label, required=True)}

    def condition(self, values: Mapping[str, Any], *, zone: ZoneInfo) -> Q:
        return Q()


@dataclass(frozen=True)
class Days(Filter):
    """A range of days in the tenant's time zone; both ends are within it, either may be open."""

    name: str = ""
    required: bool = False

    @property
    def first(self) -> str:
        return f"{self.name or self.field}_from"

    @property
    def last(self) -> str:
        return f"{self.name or self.field}_to"

    def fields(self) -> dict[str, forms.Field]:
        return {
            self.first: _day_field(_("%(what)s from") % {"what": self.label}, required=self.required),
            self.last: _day_field(_("%(what)s to") % {"what": self.label}, required=self.required),
        }

    def condition(self, values: Mapping[str, Any], *, zone: ZoneInfo) -> Q:
        made = Q()
        if values.get(self.first):
            made &= Q(**{f"{self.field}__gte": start_of(values[self.first], zone=zone)})
        if values.get(self.last):
            made &= Q(**{f"{self.field}__lt": start_of(values[self.last] + timedelta(days=1), zone=zone)})
        return made


class FilterForm(forms.Form):
    """The form of a definition's filters. Stored values are read back through it, so they stay typed."""

    def __init__(self, *args: Any, filters: tuple[Filter, ...], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.filters = filters
        for one in filters:
            self.fields.update(one.fields())

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        for one in self.filters:
            if isinstance(one, Days):
                first, last = cleaned.get(one.first), cleaned.get(one.last)
                if first and last and first > last:
                    self.add_error(one.last, ValidationError(_("The range ends before it begins.")))
        return cleaned

    def stored(self) -> dict[str, str]:
        """Return the values as they are kept: text, without the empty ones."""
        names = [name for one in self.filters for name in one.fields()]
        kept = {name: self.cleaned_data.get(name) for name in names}
        return {name: value.isoformat() if isinstance(value, date) else value for name, value in kept.items() if value}


def start_of(day: date, *, zone: ZoneInfo) -> datetime:
    """Return the first instant of the day in the zone, in UTC: a midnight that the clock skips or repeats has no equal.

    Where it skips midnight the day begins as the clock moves; of two midnights it begins with the first.
    """
    return datetime.combine(day, time.min, tzinfo=zone).astimezone(UTC)


def _day_field(label: Words, *, required: bool) -> forms.DateField:
    return forms.DateField(
        label=str(label),
        required=required,
        input_formats=["%Y-%m-%d"],
        validators=[MinValueValidator(date(1900, 1, 1)), MaxValueValidator(date(2200, 12, 31))],
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )
