"""Run an export: authorize again, read, write, store, publish. Orchestration only: no rule of an export is here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo

import structlog
from django.utils.translation import gettext_lazy as _

from backoffice import commands, jobs
from backoffice.commands import Actor
from backoffice.errors import Refusal
from backoffice.tenants import scope
from exports import acting, columns, pipeline, providing
from exports.base import Export
from exports.encoders.formats import FORMATS
from exports.models import ExportRequest
from exports.providing import Watch
from exports.spooling import Spool

AREA = "exports"
log = structlog.get_logger(__name__)


class Unwatched:
    """Nobody waits elsewhere: the run happens inside the request."""

    def check(self) -> None:
        """Let it go on."""

    def insist(self) -> None:
        """Let it go on."""

    def report(self, done: int, total: int) -> None:
        """Tell nobody."""


def needs(definition: Export) -> tuple[str, ...]:
    """Return what a person must hold to have this file made."""
    return ("exports.request", definition.permission)


def run(request: ExportRequest, *, fence: int, watch: Watch, guard: Callable[[], None] | None = None) -> None:
    """Carry one request to its artifact, or raise: a Refusal is final and safe to show."""
    definition = acting.find(request.definition)
    pipeline.authorize(request, needs=needs(definition))
    zone = ZoneInfo(scope.current().time_zone)
    person = type(request.requested_by).objects.get(pk=request.requested_by_id)
    masked = definition.masked(person)
    # A file that holds the whole of what is sensitive is handed to those alone who may see it.
    whole = (definition.whole,) if definition.sensitive and not masked else ()
    plan = pipeline.Plan(
        request=request,
        area=AREA,
        fence=fence,
        filename=filename(definition, request),
        content_type=FORMATS[request.encoding].content_type,
        needs=("exports.download", definition.permission, *whole),
        contact=definition.contact,
        limits=definition.stated_bounds().read(),
        publish=acting.publish_export,
        guard=guard,
    )
    form = definition.form(request.arguments)
    if not form.is_valid():
        raise Refusal("bad-filter", _("A filter of this request is no longer known. Request it again."))
    rows, written_columns = definition.shown(definition.rows(form.cleaned_data, zone=zone), person=person)

    def write(spool: Spool) -> pipeline.Content:
        with pipeline.reading_session(plan, insist=watch.insist) as session:
            written = providing.write(
                session,
                rows,
                written_columns,
                paging=definition.paging,
                encoding=request.encoding,
                limits=plan.limits,
                zone=zone,
                spool=spool,
                watch=watch,
                title=str(definition.title),
            )
        watch.check()
        return pipeline.Content(
            rows=written.rows, as_of=written.as_of, manifest=_manifest(definition, request, written, masked)
        )

    pipeline.carry(plan, write=write)


def run_in_request(request: ExportRequest) -> None:
    """Run it at once, for the person who waits. A refusal ends the request and is raised; a fault is on its page."""
    try:
        run(request, fence=0, watch=Unwatched())
    except Refusal as refusal:
        _fail(request, code=refusal.code, reason=str(refusal.message))
        raise
    except Exception as error:
        log.exception("export.failed", request=request.pk)
        reason = str(_("Something went wrong. Nothing was written; try again."))
        _fail(request, code="failed", reason=f"{error.where} {reason}" if isinstance(error, jobs.Broken) else reason)


def filename(definition: Export, request: ExportRequest) -> str:
    """Name the file for people: what it is, whose, when it was asked for."""
    day = request.requested_at.astimezone(ZoneInfo(scope.current().time_zone)).date().isoformat()
    return f"{definition.name}-{scope.current().slug}-{day}-{request.pk}.{FORMATS[request.encoding].extension}"


def _manifest(
    definition: Export, request: ExportRequest, written: providing.Written, masked: frozenset[str]
) -> dict[str, Any]:
    return {
        "export": definition.name,
        "filters": request.arguments,
        "encoding": request.encoding,
        "time_zone": scope.current().time_zone,
        "columns": [str(column) for column in definition.columns],
        "fingerprint": columns.fingerprint(definition.columns),
        "masked": sorted(masked),
        "escaped": written.changes.escaped,
        "replaced_characters": written.changes.replaced,
        "numbers_as_text": written.changes.as_text,
        "sheets": written.sheets,
        "paging": definition.describe()["paging"],
    }


def _fail(request: ExportRequest, *, code: str, reason: str) -> None:
    commands.dispatch(
        acting.fail_export,
        actor=Actor.system("files", acting_for=f"{AREA}:{request.pk}"),
        key=f"fail:{AREA}:{request.pk}",
        request_id=request.pk,
        code=code,
        reason=reason,
    )
