"""The commands of reports: ask for one, publish it, fail it."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _

from backoffice import jobs
from backoffice.commands import Actor, Outcome, command
from backoffice.errors import NotPermitted, Refusal, UnknownDefinition
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant
from exports import publishing
from reports.base import Report, reports
from reports.models import ReportRequest

RUN = "report.run"


def find(name: str) -> Report:
    """Return the report of this name; refuse another."""
    try:
        return reports.get(name)
    except UnknownDefinition:
        raise Refusal("unknown-report", _("There is no such report.")) from None


def target(definition: Report, request_id: int) -> str:
    """Name the request where the definition says that its audit lands."""
    assert definition.audit is not None
    return f"{definition.audit.target}:{request_id}"


def audited(definition: Report) -> dict[str, Any]:
    """Return what each audit event of the report states: why it is audited."""
    assert definition.audit is not None
    return {"report": definition.name, "reason": definition.audit.reason}


@command("report.request", permission="reports.request")
def request_report(*, actor: Actor, report: str, parameters: dict[str, str], encoding: str) -> Outcome:
    """Record the wish for a report and submit its job."""
    definition = find(report)
    person = actor.user
    if person is None or not person.has_perm(definition.permission):
        raise NotPermitted("not-permitted", _("Your roles here do not include what this report holds."))
    if encoding not in definition.encodings:
        raise Refusal("unknown-encoding", _("This report is not written in that encoding."))
    form = definition.form(parameters)
    if not form.is_valid():
        raise Refusal("bad-parameter", _("A parameter's value cannot be used."))
    definition.check_range(form.cleaned_data)
    # Two requests at one moment are counted one after the other.
    Tenant.objects.select_for_update(no_key=True).get(pk=scope.current().pk)
    definition.stated_bounds().read().check_concurrent(on_their_way(report))
    made = ReportRequest.objects.create(
        tenant=scope.current(), definition=report, arguments=parameters, encoding=encoding, requested_by=person
    )
    job = jobs.submit(kind=RUN, key=f"reports:{made.pk}", arguments={"request_id": made.pk}, requested_by=person)
    ReportRequest.objects.filter(pk=made.pk).update(job=job)
    return Outcome(target=target(definition, made.pk), data={"request": made.pk, **audited(definition)})


@command("report.publish", systems=("files",), secret=("preview",))
def publish_report(*, actor: Actor, request_id: int, preview: Any, **artifact: Any) -> Outcome:
    """Publish a finished report: from here on it is shown and can be downloaded."""
    definition = find(ReportRequest.objects.get(pk=request_id).definition)
    subject = target(definition, request_id)
    done = publishing.publish_file(ReportRequest, subject=subject, request_id=request_id, preview=preview, **artifact)
    return Outcome(target=subject, data={**done, **audited(definition)})


def on_their_way(report: str) -> int:
    """Count the open tenant's runs of this report that are queued or running."""
    return ReportRequest.objects.filter(definition=report, artifact=None, job__state__in=["queued", "running"]).count()
