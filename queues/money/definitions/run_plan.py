"""The job that runs a confirmed plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from backoffice import jobs
from backoffice.jobs.base import Consequence, JobKind, Step
from backoffice.jobs.models import Job
from queues.money import confirming, executing, telling

if TYPE_CHECKING:
    from backoffice.jobs.running import Run


@jobs.register
class RunPlan(JobKind):
    """Release the lines of one plan, then close it."""

    name = confirming.JOB_KIND
    title = _("Release a plan")
    queue = "interactive"
    steps = (Step("release", _("Release every line"), 99), Step("close", _("Close the plan"), 100))
    max_attempts = 5
    lease = timedelta(seconds=10)
    max_duration = timedelta(hours=1)
    replayable = False
    changes = _("The plan's money is released.")
    failure = Consequence(_("Payouts that were not released yet are free again and have to be planned anew."))

    def address(self, job: Job) -> str:
        return reverse("plan", args=[job.arguments["plan_id"]])

    def changed(self, jobs: Sequence[Job]) -> Mapping[int, str]:
        return telling.changed(jobs)

    def run(self, run: Run) -> None:
        executing.run_plan(run=run, plan_id=int(run.arguments["plan_id"]))
