"""The job that writes a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from backoffice import jobs
from backoffice.jobs.base import Consequence, JobKind, Step
from backoffice.jobs.models import Job
from backoffice.jobs.running import Run
from exports import telling, watching
from reports import acting, running
from reports.models import ReportRequest


@jobs.register
class RunReport(JobKind):
    """Compute one requested report."""

    name = acting.RUN
    title = _("Compute a report")
    queue = "bulk"
    steps = (Step("write", _("Read the figures, store the file, publish it")),)
    max_attempts = 3
    lease = timedelta(seconds=60)
    max_duration = timedelta(minutes=30)
    replayable = False  # the request ended with the job; a person asks again
    changes = _("A report was computed; no data was changed.")
    failure = Consequence(_("The report is missing; nothing else depends on it. Request it again."))

    def address(self, job: Job) -> str:
        return reverse("report", args=[job.arguments["request_id"]])

    def changed(self, jobs: Sequence[Job]) -> Mapping[int, str]:
        return telling.changed(ReportRequest, jobs)

    def run(self, run: Run) -> None:
        request = ReportRequest.objects.get(pk=run.arguments["request_id"])
        with run.step("write") as todo:
            if todo:
                running.run(request, fence=run.fence, watch=watching.JobWatch(run), guard=run.guard)
