"""Ask for a report, and stop one that is on its way."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from backoffice import commands, jobs, reading
from backoffice.commands import Actor
from backoffice.errors import Refusal
from reports import acting, running
from reports.base import Report
from reports.models import ReportRequest


def request(*, actor: Actor, key: str, definition: Report, parameters: dict[str, str], encoding: str) -> ReportRequest:
    """Record the request and submit its job; raises Refusal with the words for the person."""
    outcome = commands.dispatch(
        acting.request_report,
        actor=actor,
        key=key,
        report=definition.name,
        parameters=parameters,
        encoding=encoding,
    )
    made: ReportRequest = ReportRequest.objects.get(pk=outcome.data["request"])
    return made


def cancel(*, actor: Actor, key: str, request: ReportRequest) -> None:
    """Stop a request that is on its way: the wish on record first, then the query itself."""
    if request.job is None:
        raise Refusal("ended", _("This request has ended already."))
    commands.dispatch(jobs.cancel, actor=actor, key=key, job_id=request.job.pk)
    reading.cancel(name=f"{running.AREA}:{request.pk}")
