"""What a team declares: what an export means, who may read it, its columns, and what it may cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

from django.core.checks import CheckMessage, Error
from django.db.models import Q, QuerySet
from django.utils.functional import Promise
from import_export.resources import ModelResource

from backoffice import livesettings
from backoffice.registry import Definition, Registry
from backoffice.tenants.models import User
from backoffice.tenants.roles import ROLE_PERMISSIONS
from exports import columns, masking
from exports.bounds import Bounds
from exports.columns import Column
from exports.encoders.formats import ENCODINGS
from exports.filters import Filter, FilterForm

Words = str | Promise


@dataclass(frozen=True)
class Audit:
    """Why the bulk read is audited, and under which target its events land ("exports": "exports:17")."""

    reason: str
    target: str


@dataclass(frozen=True)
class Pages:
    """Read by key, this many rows a page: each page is bounded, and between two a run can be stopped."""

    size: int


@dataclass(frozen=True)
class NoPaging:
    """Read all rows in one statement, for this reason."""

    reason: str


class Export(Definition):
    """Rows of one model into a file.

    `resource` is the column contract and `contract` its recorded form: a change of one without the
    other fails the check, since somebody's program reads the file. `need` names who asked for it.
    """

    title: ClassVar[Words] = ""
    need: ClassVar[Words] = ""
    resource: ClassVar[type[ModelResource]]
    contract: ClassVar[tuple[str, ...]] = ()
    formulas: ClassVar[tuple[str, ...]] = ()
    encodings: ClassVar[tuple[str, ...]] = ENCODINGS
    sensitive: ClassVar[tuple[str, ...]] = ()  # columns of which those without `whole` get the last four
    whole: ClassVar[str] = ""
    amounts: ClassVar[Mapping[str, str]] = {}  # each amount's column, and the field of its currency
    filters: ClassVar[tuple[Filter, ...]] = ()
    permission: ClassVar[str] = ""
    contact: ClassVar[str] = ""
    audit: ClassVar[Audit | None] = None
    paging: ClassVar[Pages | NoPaging | None] = None
    bounds: ClassVar[Bounds | None] = None
    request_budget: ClassVar[str] = ""

    @cached_property
    def columns(self) -> tuple[columns.Column, ...]:
        """The compiled column contract."""
        return columns.compile_columns(self.resource, formulas=self.formulas)

    def rows(self, values: Mapping[str, Any], *, zone: ZoneInfo) -> QuerySet[Any]:
        """Return the open tenant's rows that the filters' values leave."""
        wanted = Q()
        for one in self.filters:
            wanted &= one.condition(values, zone=zone)
        found: QuerySet[Any] = self.resource._meta.model.objects.filter(wanted)
        return found

    def masked(self, person: User) -> frozenset[str]:
        """Return the columns of which this person gets the last four characters."""
        return frozenset() if person.has_perm(self.whole) else frozenset(self.sensitive)

    def shown(self, rows: QuerySet[Any], *, person: User) -> tuple[QuerySet[Any], tuple[Column, ...]]:
        """Return the rows and the columns as they are written for this person."""
        return masking.shown(rows, self.columns, masked=self.masked(person), amounts=self.amounts)

    def form(self, data: Mapping[str, Any] | None = None) -> FilterForm:
        """Return the form of the filters."""
        return FilterForm(data, filters=self.filters)

    def stated_bounds(self) -> Bounds:
        """Return the bounds; the check has seen to it that there are some."""
        assert self.bounds is not None
        return self.bounds

    def describe(self) -> dict[str, Any]:
        paging = {"mode": "pages", "size": self.paging.size} if isinstance(self.paging, Pages) else None
        if isinstance(self.paging, NoPaging):
            paging = {"mode": "none", "reason": self.paging.reason}
        return {
            "name": self.name,
            "need": str(self.need),
            "columns": [str(column) for column in self.columns],
            "fingerprint": columns.fingerprint(self.columns),
            "encodings": list(self.encodings),
            "permission": self.permission,
            "sensitive": list(self.sensitive),
            "whole": self.whole,
            "contact": self.contact,
            "audit": {"reason": self.audit.reason, "target": self.audit.target} if self.audit else None,
            "paging": paging,
            "bounds": self.bounds.names() if self.bounds else None,
            "request_budget": self.request_budget,
        }

    def _check_resource(self) -> list[CheckMessage]:
        try:
            return [] if self.columns else [self._error("E001", "has no columns", "Name them in its resource.")]
        except (AttributeError, columns.UnknownColumn) as problem:
            return [self._error("E001", f"has no column contract: {problem}", "Give it a ModelResource.")]

    def _check_contract(self) -> list[CheckMessage]:
        try:
            compiled = tuple(str(column) for column in self.columns)
        except (AttributeError, columns.UnknownColumn):
            return []
        if compiled == self.contract:
            return []
        hint = f"If readers of the file were told, record it: contract = {compiled!r}"
        return [self._error("E002", "has columns that differ from its recorded contract", hint)]

    def _check_permission(self) -> list[CheckMessage]:
        if self.permission in frozenset().union(*ROLE_PERMISSIONS.values()):
            return []
        return [self._error("E003", f"needs {self.permission!r}, which no role grants", "See tenants/roles.py.")]

    def _check_contact(self) -> list[CheckMessage]:
        return [] if self.contact else [self._error("E004", "names no contact", "Say who answers for its files.")]

    def _check_audit(self) -> list[CheckMessage]:
        if isinstance(self.audit, Audit) and self.audit.reason and self.audit.target:
            return []
        return [self._error("E005", "does not say why and where its read is audited", "Set audit = Audit(...).")]

    def _check_paging(self) -> list[CheckMessage]:
        if isinstance(self.paging, Pages) and self.paging.size > 0:
            return []
        if isinstance(self.paging, NoPaging) and self.paging.reason:
            return []
        return [self._error("E006", "states no paging", "Set Pages(size=...), or NoPaging(reason=...).")]

    def _check_bounds(self) -> list[CheckMessage]:
        if not isinstance(self.bounds, Bounds):
            return [self._error("E007", "has no bounds", "Set bounds = Bounds(...), the names of settings.")]
        return [
            self._error("E007", f"has a bound that is no setting: {one}", "Define it in definitions/settings.py.")
            for one in self.bounds.unknown()
        ]

    def _check_request_budget(self) -> list[CheckMessage]:
        if self.request_budget in livesettings.settings:
            return []
        return [self._error("E008", "has a request budget that is no setting", "Name a setting, in rows.")]

    def _check_need(self) -> list[CheckMessage]:
        if self.title and self.need:
            return []
        return [self._error("E009", "has no title, or no need that somebody has now", "Say who asked for it.")]

    def _check_encodings(self) -> list[CheckMessage]:
        if self.encodings and set(self.encodings) <= set(ENCODINGS):
            return []
        return [self._error("E010", "states no encoding that its encoder writes", f"Choose of {ENCODINGS}.")]

    def _error(self, code: str, problem: str, hint: str) -> Error:
        return Error(f"Export {self.name or type(self).__name__} {problem}.", hint=hint, obj=self, id=f"exports.{code}")


exports: Registry[Export] = Registry("export")
register = exports.register
