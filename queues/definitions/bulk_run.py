"""The job that does one thing to many items."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from backoffice import jobs
from backoffice.jobs.base import Consequence, JobKind, Step
from backoffice.jobs.models import Job
from queues import bulk, bulk_running

if TYPE_CHECKING:
    from backoffice.jobs.running import Run


@jobs.register
class RunBulk(JobKind):
    """Assign, snooze or release what was chosen from a list, an item at a time."""

    name = bulk.JOB_KIND
    title = _("Assign, snooze or release items")
    queue = "interactive"
    steps = (Step("items", _("Do each item")),)
    max_attempts = 3
    lease = timedelta(seconds=10)
    max_duration = timedelta(minutes=30)
    replayable = False
    changes = _("Each chosen item is done, or was refused in words that its page shows.")
    failure = Consequence(_("The items without an answer are as they were. Choose them again."))

    def address(self, job: Job) -> str:
        return reverse("bulk-run", args=[job.arguments["queue"], job.arguments["run_id"]])

    def run(self, run: Run) -> None:
        bulk_running.run_job(run=run, run_id=int(run.arguments["run_id"]))
