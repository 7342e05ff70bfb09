"""What a team declares: what a report means, why the ordinary path cannot serve it, and what it may cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import date, timedelta
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

from django.core.checks import CheckMessage, Error
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from backoffice import livesettings
from backoffice.errors import Refusal
from backoffice.registry import Definition, Registry
from backoffice.tenants.roles import ROLE_PERMISSIONS
from exports import columns
from exports.base import ENCODINGS, Audit
from exports.bounds import Bounds
from exports.filters import Filter, FilterForm

Words = str | Promise


@dataclass(frozen=True)
class Need:
    """Why the report exists now, and what was found out before it was built.

    `volume`: a representative amount of data. `plan`: the query plan on it, or the limitation of the
    ordinary path. `latency`: how soon a reader needs it. `maximum`: the largest result. `operator`:
    who runs it and answers for it.
    """

    report: Words
    volume: Words
    plan: Words
    latency: timedelta
    maximum: Words
    operator: str

    def missing(self) -> list[str]:
        """Return what is left empty."""
        return [one.name for one in fields(self) if not getattr(self, one.name)]


@dataclass(frozen=True)
class ReportBounds(Bounds):
    """The bounds of a file, and `days`: the widest range of dates."""

    days: str


@dataclass(frozen=True)
class Plot:
    """Bars beside the numbers: one a value of `label`, as long as the sum of `value`."""

    title: Words
    label: str
    value: str


class Report(Definition):
    """One documented query into a table.

    `sql` names a file of `reports/sql`, `columns` what it returns, in order; `bind` turns the
    parameters' values into bound ones. The tenant, the time zone and the row limit are bound for it.
    """

    title: ClassVar[Words] = ""
    need: ClassVar[Need | None] = None
    sql: ClassVar[str] = ""
    columns: ClassVar[tuple[columns.Column, ...]] = ()
    parameters: ClassVar[tuple[Filter, ...]] = ()
    encodings: ClassVar[tuple[str, ...]] = ENCODINGS
    permission: ClassVar[str] = ""
    contact: ClassVar[str] = ""
    audit: ClassVar[Audit | None] = None
    bounds: ClassVar[ReportBounds | None] = None
    plot: ClassVar[Plot | None] = None

    def bind(self, values: Mapping[str, Any], *, zone: ZoneInfo) -> dict[str, Any]:
        """Return the values that the SQL names beside `tenant`, `zone` and `row_limit`."""
        return {}

    def range_of(self, values: Mapping[str, Any]) -> tuple[date, date]:
        """Return the first and the last day that the parameters ask for."""
        raise NotImplementedError

    def defaults(self, *, today: date) -> dict[str, Any]:
        """Return what the form proposes."""
        return {}

    def form(self, data: Mapping[str, Any] | None = None, **options: Any) -> FilterForm:
        """Return the form of the parameters."""
        return FilterForm(data, filters=self.parameters, **options)

    def stated_bounds(self) -> ReportBounds:
        """Return the bounds; the check has seen to it that there are some."""
        assert self.bounds is not None
        return self.bounds

    def check_range(self, values: Mapping[str, Any]) -> None:
        """Refuse a range of dates wider than the bound."""
        first, last = self.range_of(values)
        bound = self.stated_bounds().days
        limit = livesettings.get(bound)
        if last < first:
            raise Refusal("empty-range", _("The range ends before it begins."))
        if (last - first).days + 1 > limit:
            raise Refusal(
                "range-too-wide",
                _("The range is wider than %(limit)d days, the bound %(name)s.") % {"limit": limit, "name": bound},
            )

    def describe(self) -> dict[str, Any]:
        need = self.need
        return {
            "name": self.name,
            "need": {
                "report": str(need.report),
                "volume": str(need.volume),
                "plan": str(need.plan),
                "latency_seconds": need.latency.total_seconds(),
                "maximum": str(need.maximum),
                "operator": need.operator,
            }
            if need
            else None,
            "columns": [str(column) for column in self.columns],
            "fingerprint": columns.fingerprint(self.columns),
            "encodings": list(self.encodings),
            "permission": self.permission,
            "contact": self.contact,
            "audit": {"reason": self.audit.reason, "target": self.audit.target} if self.audit else None,
            "bounds": self.bounds.names() if self.bounds else None,
        }

    def _check_need(self) -> list[CheckMessage]:
        if not self.title or not isinstance(self.need, Need):
            return [self._error("E001", "has no title or no recorded need", "Set need = Need(...).")]
        return [self._error("E001", f"leaves its need's {one} empty", "Write it down.") for one in self.need.missing()]

    def _check_sql(self) -> list[CheckMessage]:
        from reports.providing import problems  # the provider stands on this module

        return [self._error("E002", problem, "See reports/sql.") for problem in problems(self)]

    def _check_columns(self) -> list[CheckMessage]:
        names = [column.name for column in self.columns]
        if names and len(set(names)) == len(names):
            return []
        return [self._error("E003", "states no columns, or one twice", "State what its SQL returns, in order.")]

    def _check_permission(self) -> list[CheckMessage]:
        if self.permission in frozenset().union(*ROLE_PERMISSIONS.values()):
            return []
        return [self._error("E004", f"needs {self.permission!r}, which no role grants", "See tenants/roles.py.")]

    def _check_contact(self) -> list[CheckMessage]:
        return [] if self.contact else [self._error("E005", "names no contact", "Say who answers for its files.")]

    def _check_audit(self) -> list[CheckMessage]:
        if isinstance(self.audit, Audit) and self.audit.reason and self.audit.target:
            return []
        return [self._error("E006", "does not say why and where its read is audited", "Set audit = Audit(...).")]

    def _check_bounds(self) -> list[CheckMessage]:
        if not isinstance(self.bounds, ReportBounds):
            return [self._error("E007", "has no bounds", "Set bounds = ReportBounds(...), the names of settings.")]
        return [
            self._error("E007", f"has a bound that is no setting: {one}", "Define it in definitions/settings.py.")
            for one in self.bounds.unknown()
        ]

    def _check_encodings(self) -> list[CheckMessage]:
        if self.encodings and set(self.encodings) <= set(ENCODINGS):
            return []
        return [self._error("E008", "states no encoding that its encoder writes", f"Choose of {ENCODINGS}.")]

    def _check_plot(self) -> list[CheckMessage]:
        names = {column.name for column in self.columns}
        if self.plot is None or {self.plot.label, self.plot.value} <= names:
            return []
        return [self._error("E009", "plots a column that it does not have", "Name two of its columns.")]

    def _error(self, code: str, problem: str, hint: str) -> Error:
        return Error(f"Report {self.name or type(self).__name__} {problem}.", hint=hint, obj=self, id=f"reports.{code}")


reports: Registry[Report] = Registry("report")
register = reports.register
