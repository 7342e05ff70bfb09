"""The job that writes an export."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from backoffice import jobs
from backoffice.jobs.base import Consequence, JobKind, Step
from backoffice.jobs.models import Job
from backoffice.jobs.running import Run
from exports import acting, running, telling, watching
from exports.models import ExportRequest


@jobs.register
class RunExport(JobKind):
    """Write one requested export past its request budget."""

    name = acting.RUN
    title = _("Write an export")
    queue = "bulk"
    steps = (Step("write", _("Read the rows, store the file, publish it")),)
    max_attempts = 3
    lease = timedelta(seconds=60)
    max_duration = timedelta(hours=2)
    replayable = False  # the request ended with the job; a person asks again
    changes = _("A file was written; no data was changed.")
    failure = Consequence(_("The file is missing; nothing else depends on it. Request it again."))

    def address(self, job: Job) -> str:
        return reverse("export", args=[job.arguments["request_id"]])

    def changed(self, jobs: Sequence[Job]) -> Mapping[int, str]:
        return telling.changed(ExportRequest, jobs)

    def run(self, run: Run) -> None:
        request = ExportRequest.objects.get(pk=run.arguments["request_id"])
        with run.step("write") as todo:
            if todo:
                running.run(request, fence=run.fence, watch=watching.JobWatch(run), guard=run.guard)
