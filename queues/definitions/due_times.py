"""What keeps due times right when the calendar, or a queue's clocks, change."""

from __future__ import annotations

from datetime import timedelta

from django.utils.translation import gettext_lazy as _

from backoffice import jobs, schedules
from backoffice.commands import Actor
from backoffice.jobs import Backoff, Consequence
from backoffice.jobs.base import JobKind, Step
from backoffice.jobs.running import Run
from backoffice.schedules import Misfire, ScheduledJob, Spread, StillGoing
from queues import changing_calendar, due_times, sweeping
from queues.base import queues

_STALE = _("Due times may stand as they were before the working hours changed.")


@jobs.register
class ReworkDueTimes(JobKind):
    """Work out the due times of a tenant's open items again after its calendar changed."""

    name = changing_calendar.REWORK
    title = _("Bring due times up to date with the working hours")
    queue = "bulk"
    steps = (Step("rework", _("Work out the due times of the open items")),)
    max_attempts = 5
    lease = timedelta(seconds=60)
    max_duration = timedelta(hours=1)
    changes = _("Due times stand by the new working hours.")
    failure = Consequence(_STALE)

    def run(self, run: Run) -> None:
        actor = Actor.system("queues", acting_for=f"job:{run.job.pk}")
        with run.step("rework") as todo:
            for listed in [one for one in queues if one.due and todo]:
                key = f"job:{run.job.pk}:{listed.name}"
                due_times.rework(actor=actor, queue=listed.name, key=key, guard=run.guard, watch=run.check_cancelled)


@schedules.register
class KeepDueTimes(ScheduledJob):
    """Find due times that are out of date: after a release that declares other clocks, or for rows older than they."""

    name = "queues.due-times"
    title = _("Bring due times up to date")
    cron = "20 * * * *"
    spread = Spread.PLATFORM
    selects = sweeping.ranges_to_time
    runs = due_times.rework_batch
    batch_size = 100
    misfire = Misfire.ONCE
    still_going = StillGoing.SKIP
    attempts, backoff, max_duration = 3, Backoff(), timedelta(minutes=30)
    retention = "schedules.retention"
    failure = Consequence(_STALE)
    runbook = schedules.runbook_of("queues.due-times")
