"""The commands of exports: ask for one, publish it, fail it."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _

from backoffice import jobs
from backoffice.commands import Actor, Outcome, command
from backoffice.errors import NotPermitted, Refusal, UnknownDefinition
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant
from exports import estimating, publishing
from exports.base import Export, exports
from exports.models import ExportRequest

RUN = "export.run"


def find(name: str) -> Export:
    """Return the export of this name; refuse another."""
    try:
        return exports.get(name)
    except UnknownDefinition:
        raise Refusal("unknown-export", _("There is no such export.")) from None


def target(definition: Export, request_id: int) -> str:
    """Name the request where the definition says that its audit lands."""
    assert definition.audit is not None
    return f"{definition.audit.target}:{request_id}"


def audited(definition: Export) -> dict[str, Any]:
    """Return what each audit event of the export states: why it is audited."""
    assert definition.audit is not None
    return {"export": definition.name, "reason": definition.audit.reason}


@command("export.request", permission="exports.request")
def request_export(
    *,
    actor: Actor,
    export: str,
    filters: dict[str, str],
    encoding: str,
) -> Outcome:
    """Record the wish for a file. Past the request's budget it becomes a job; else the caller writes it at once."""
    definition = find(export)
    person = actor.user
    if person is None or not person.has_perm(definition.permission):
        raise NotPermitted("not-permitted", _("Your roles here do not include what this export holds."))
    if encoding not in definition.encodings:
        raise Refusal("unknown-encoding", _("This export is not written in that encoding."))
    form = definition.form(filters)
    if not form.is_valid():
        raise Refusal("bad-filter", _("A filter's value cannot be used."))
    at_once = estimating.fits_the_request(definition, form.cleaned_data, person_id=person.pk)
    # Two requests at one moment are counted one after the other.
    Tenant.objects.select_for_update(no_key=True).get(pk=scope.current().pk)
    definition.stated_bounds().read().check_concurrent(on_their_way(export))
    made = ExportRequest.objects.create(
        tenant=scope.current(),
        definition=export,
        arguments=filters,
        encoding=encoding,
        requested_by=person,
    )
    if not at_once:
        job = jobs.submit(kind=RUN, key=f"exports:{made.pk}", arguments={"request_id": made.pk}, requested_by=person)
        ExportRequest.objects.filter(pk=made.pk).update(job=job)
    return Outcome(
        target=target(definition, made.pk), data={"request": made.pk, "at_once": at_once, **audited(definition)}
    )


@command("export.publish", systems=("files",), secret=("preview",))
def publish_export(*, actor: Actor, request_id: int, preview: Any, **artifact: Any) -> Outcome:
    """Publish a finished export: from here on it can be downloaded."""
    definition = find(ExportRequest.objects.get(pk=request_id).definition)
    subject = target(definition, request_id)
    done = publishing.publish_file(ExportRequest, subject=subject, request_id=request_id, preview=preview, **artifact)
    return Outcome(target=subject, data={**done, **audited(definition)})


@command("export.fail", systems=("files",))
def fail_export(*, actor: Actor, request_id: int, code: str, reason: str) -> Outcome:
    """End an export that was tried within its request and refused."""
    definition = find(ExportRequest.objects.get(pk=request_id).definition)
    publishing.fail_file(ExportRequest, request_id=request_id, code=code, reason=reason)
    return Outcome(target=target(definition, request_id), data={"code": code, **audited(definition)})


def on_their_way(export: str) -> int:
    """Count the open tenant's runs of this export that are queued or running."""
    return ExportRequest.objects.filter(definition=export, artifact=None, job__state__in=["queued", "running"]).count()
