"""Run a report: authorize again, read, write, store, publish. Orchestration only: no rule of a report is here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo

from django.utils.translation import gettext_lazy as _

from backoffice.errors import Refusal
from backoffice.tenants import scope
from exports import columns, pipeline
from exports.encoders import csv
from exports.encoders.formats import FORMATS
from exports.providing import Watch
from exports.spooling import Spool
from reports import acting, providing
from reports.base import Report
from reports.models import ReportRequest

AREA = "reports"


def needs(definition: Report) -> tuple[str, ...]:
    """Return what a person must hold to have this report made."""
    return ("reports.request", definition.permission)


def run(request: ReportRequest, *, fence: int, watch: Watch, guard: Callable[[], None] | None = None) -> None:
    """Carry one request to its artifact, or raise: a Refusal is final and safe to show."""
    definition = acting.find(request.definition)
    pipeline.authorize(request, needs=needs(definition))
    zone = ZoneInfo(scope.current().time_zone)
    plan = pipeline.Plan(
        request=request,
        area=AREA,
        fence=fence,
        filename=filename(definition, request),
        content_type=FORMATS[request.encoding].content_type,
        needs=("reports.download", definition.permission),
        contact=definition.contact,
        limits=definition.stated_bounds().read(),
        publish=acting.publish_report,
        guard=guard,
    )
    form = definition.form(request.arguments)
    if not form.is_valid():
        raise Refusal("bad-parameter", _("A parameter of this request is no longer known. Request it again."))
    values = form.cleaned_data
    definition.check_range(values)

    def write(spool: Spool) -> pipeline.Content:
        watch.check()
        with pipeline.reading_session(plan, insist=watch.insist) as session:
            table = providing.read(session, definition, values, limits=plan.limits, zone=zone)
        watch.check()
        providing.write(definition, table, encoding=request.encoding, zone=zone, spool=spool)
        watch.report(len(table.rows), len(table.rows))
        return pipeline.Content(
            rows=len(table.rows),
            as_of=session.as_of,
            manifest=_manifest(definition, request, table),
            preview=[[_shown(value, zone=zone) for value in row] for row in table.rows],
        )

    pipeline.carry(plan, write=write)


def filename(definition: Report, request: ReportRequest) -> str:
    """Name the file for people: what it is, whose, when it was asked for."""
    day = request.requested_at.astimezone(ZoneInfo(scope.current().time_zone)).date().isoformat()
    return f"{definition.name}-{scope.current().slug}-{day}-{request.pk}.{FORMATS[request.encoding].extension}"


def _manifest(definition: Report, request: ReportRequest, table: providing.Table) -> dict[str, Any]:
    return {
        "report": definition.name,
        "parameters": request.arguments,
        "encoding": request.encoding,
        "time_zone": scope.current().time_zone,
        "columns": [str(column) for column in definition.columns],
        "fingerprint": columns.fingerprint(definition.columns),
        "escaped": table.changes.escaped,
        "replaced_characters": table.changes.replaced,
        "numbers_as_text": table.changes.as_text,
        "paging": {"mode": "none", "reason": "an aggregate, bounded by its limit of rows"},
    }


def _shown(value: Any, *, zone: ZoneInfo) -> str | int | None:
    """Keep a value as JSON holds it without loss: money stays exact text, an instant stands in the file's zone."""
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    return value.replace("\x00", csv.REPLACEMENT) if isinstance(value, str) else csv.plain(value, zone=zone)
