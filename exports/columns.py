"""The column contract: what a file's columns are called and are, in their order.

It is written as a django-import-export Resource and compiled once. `Resource.export()` is never
called: it holds the whole data set in memory.
"""

from __future__ import annotations

import enum
import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import FieldDoesNotExist
from django.db import models
from import_export import widgets
from import_export.fields import Field
from import_export.resources import ModelResource

from backoffice.errors import BackofficeError


class Kind(enum.StrEnum):
    """What a column holds. Only text is ever escaped."""

    TEXT = "text"
    INTEGER = "integer"
    DECIMAL = "decimal"
    BOOLEAN = "boolean"
    DATE = "date"
    TIME = "time of day"
    INSTANT = "instant"
    WALL_TIME = "wall time"  # a day and a time that a query has put into some zone already: never turned again


class UnknownColumn(BackofficeError):
    """Say that a column's type cannot be told."""


@dataclass(frozen=True)
class Column:
    """One column: its header, the model's path it reads, its kind, and what computes it, if Python does."""

    name: str
    kind: Kind
    source: str = ""
    compute: Callable[[Any], Any] | None = None
    is_formula: bool = False

    def __str__(self) -> str:
        return f"{self.name}: {self.kind}"


# The order counts: a DateTimeField is a DateField.
_FIELDS: tuple[tuple[type[models.Field[Any, Any]], Kind], ...] = (
    (models.BooleanField, Kind.BOOLEAN),
    (models.AutoField, Kind.INTEGER),
    (models.IntegerField, Kind.INTEGER),
    (models.DecimalField, Kind.DECIMAL),
    (models.DateTimeField, Kind.INSTANT),
    (models.DateField, Kind.DATE),
    (models.TimeField, Kind.TIME),
    (models.CharField, Kind.TEXT),
    (models.TextField, Kind.TEXT),
    (models.UUIDField, Kind.TEXT),
)
_WIDGETS: tuple[tuple[type[widgets.Widget], Kind], ...] = (
    (widgets.BooleanWidget, Kind.BOOLEAN),
    (widgets.IntegerWidget, Kind.INTEGER),
    (widgets.DecimalWidget, Kind.DECIMAL),
    (widgets.DateTimeWidget, Kind.INSTANT),
    (widgets.DateWidget, Kind.DATE),
    (widgets.TimeWidget, Kind.TIME),
)


def compile_columns(resource: type[ModelResource], *, formulas: Iterable[str] = ()) -> tuple[Column, ...]:
    """Resolve every column of the resource: its kind by the model's field, or, computed, by its widget."""
    made = resource()
    return tuple(_compile(made, field, frozenset(formulas)) for field in made.get_export_fields())


def fingerprint(columns: Iterable[Column]) -> str:
    """Return what changes whenever a reader of the file would notice: a name, a kind, the order."""
    return hashlib.sha256(json.dumps([str(column) for column in columns]).encode()).hexdigest()


def _compile(resource: ModelResource, field: Field, formulas: frozenset[str]) -> Column:
    name = str(field.column_name)
    method = field.get_dehydrate_method(resource.get_field_name(field))
    compute = method if callable(method) else getattr(resource, method, None)
    if compute is not None:
        kind = next((kind for widget, kind in _WIDGETS if isinstance(field.widget, widget)), Kind.TEXT)
        return Column(name, kind, compute=compute, is_formula=name in formulas)
    kind = _kind_of(resource._meta.model, str(field.attribute))
    return Column(name, kind, source=str(field.attribute), is_formula=name in formulas)


def _kind_of(model: type[models.Model], path: str) -> Kind:
    try:
        *steps, last = path.split("__")
        for step in steps:
            model = model._meta.get_field(step).related_model  # type: ignore[assignment]  # a foreign key's model
        field: Any = model._meta.get_field("id" if last == "pk" else last)
    except (FieldDoesNotExist, AttributeError):
        raise UnknownColumn(f"{path!r} is no field of {model}") from None
    if isinstance(field, models.ForeignKey):
        field = field.target_field
    for known, kind in _FIELDS:
        if isinstance(field, known):
            return kind
    raise UnknownColumn(f"{path!r} is a {type(field).__name__}, which no file format here writes")
