"""What keeps the storage in order by the timetable."""

from __future__ import annotations

from datetime import timedelta

from django.utils.translation import gettext_lazy as _

from backoffice import schedules, storage
from backoffice.jobs import Backoff, Consequence, NoConsequence
from backoffice.schedules import Misfire, ScheduledJob, Spread, StillGoing
from exports import expiring


@schedules.register
class ExpireArtifacts(ScheduledJob):
    """Remove exported files and reports whose time is over."""

    name = "exports.expire-artifacts"
    title = _("Remove expired files")
    every = timedelta(minutes=10)
    spread = Spread.PLATFORM
    selects = expiring.expired_artifacts
    runs = storage.expire_artifact
    batch_size = 500
    misfire = Misfire.ONCE
    still_going = StillGoing.SKIP
    attempts, backoff, max_duration = 5, Backoff(), timedelta(minutes=5)
    retention = "schedules.frequent_retention"
    failure = Consequence(_("Files past their time stay in storage. They cannot be downloaded."))
    runbook = schedules.runbook_of("exports.expire-artifacts")


@schedules.register
class SweepStorage(ScheduledJob):
    """Remove objects that broken runs left in storage and no file names."""

    name = "exports.sweep-storage"
    title = _("Sweep the storage")
    cron = "40 * * * *"
    spread = Spread.PLATFORM
    selects = expiring.tenants_to_sweep
    runs = expiring.sweep_storage
    batch_size = 200
    misfire = Misfire.ONCE
    still_going = StillGoing.SKIP
    attempts, backoff, max_duration = 3, Backoff(), timedelta(minutes=10)
    retention = "schedules.retention"
    failure = NoConsequence(_("What is left over stays until the next sweep."))
    runbook = schedules.runbook_of("exports.sweep-storage")
