"""Ask for an export, and stop one that is on its way."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from backoffice import commands, jobs, reading
from backoffice.commands import Actor
from backoffice.errors import Refusal
from exports import acting, running
from exports.base import Export
from exports.models import ExportRequest


def request(*, actor: Actor, key: str, definition: Export, filters: dict[str, str], encoding: str) -> ExportRequest:
    """Record the request and start it: at once when its rows fit into the request's budget, else by a worker.

    Returns the request, done or on its way; raises Refusal with the words for the person.
    """
    outcome = commands.dispatch(
        acting.request_export, actor=actor, key=key, export=definition.name, filters=filters, encoding=encoding
    )
    made = ExportRequest.objects.get(pk=outcome.data["request"])
    if outcome.data["at_once"] and not outcome.replayed:
        running.run_in_request(made)
        made.refresh_from_db()
    return made


def cancel(*, actor: Actor, key: str, request: ExportRequest) -> None:
    """Stop a request that is on its way: the wish on record first, then the query itself."""
    if request.job is None:
        raise Refusal("ended", _("This request has ended already."))
    commands.dispatch(jobs.cancel, actor=actor, key=key, job_id=request.job.pk)
    reading.cancel(name=f"{running.AREA}:{request.pk}")
