"""The nights on which records past their retention go."""

from __future__ import annotations

from datetime import timedelta

from django.utils.translation import gettext_lazy as _

from backoffice import schedules
from backoffice.jobs import Backoff, NoConsequence
from backoffice.schedules import Misfire, ScheduledJob, Spread, StillGoing, expiring

_LATER = NoConsequence(_("Old records stay until the next night."))


@schedules.register
class ExpireOccurrences(ScheduledJob):
    """Remove occurrences that are past the retention of their schedule."""

    name = "schedules.expire-occurrences"
    title = _("Remove old occurrences")
    cron = "10 2 * * *"
    spread = Spread.PLATFORM
    selects = expiring.schedules_with_retention
    runs = expiring.expire_occurrences
    batch_size = 500
    misfire = Misfire.ONCE
    still_going = StillGoing.SKIP
    attempts, backoff, max_duration = 5, Backoff(), timedelta(minutes=20)
    retention = "schedules.retention"
    failure = _LATER
    runbook = schedules.runbook_of("schedules.expire-occurrences")


@schedules.register
class ExpireJobs(ScheduledJob):
    """Remove ended jobs that are past their retention, with their steps and events."""

    name = "jobs.expire"
    title = _("Remove old jobs")
    cron = "20 2 * * *"
    spread = Spread.PLATFORM
    selects = expiring.tenants_with_job_retention
    runs = expiring.expire_jobs
    batch_size = 500
    misfire = Misfire.ONCE
    still_going = StillGoing.SKIP
    attempts, backoff, max_duration = 5, Backoff(), timedelta(minutes=20)
    retention = "schedules.retention"
    failure = _LATER
    runbook = schedules.runbook_of("jobs.expire")


@schedules.register
class ExpireReceipts(ScheduledJob):
    """Remove receipts that no repetition can ask for any more."""

    name = "commands.expire-receipts"
    title = _("Remove old receipts")
    cron = "30 2 * * *"
    spread = Spread.PLATFORM
    selects = expiring.tenants_with_receipt_retention
    runs = expiring.expire_receipts
    batch_size = 500
    misfire = Misfire.ONCE
    still_going = StillGoing.SKIP
    attempts, backoff, max_duration = 5, Backoff(), timedelta(minutes=20)
    retention = "schedules.retention"
    failure = _LATER
    runbook = schedules.runbook_of("commands.expire-receipts")
