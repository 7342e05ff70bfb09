"""What keeps the queues in order by the timetable."""

from __future__ import annotations

from datetime import timedelta

from django.utils.translation import gettext_lazy as _

from backoffice import schedules
from backoffice.jobs import Backoff, Consequence, NoConsequence
from backoffice.schedules import Misfire, ScheduledJob, Spread, StillGoing
from queues import bulk_forgetting, overriding, scoring, sweeping, tallying


@schedules.register
class SweepClaims(ScheduledJob):
    """Free expired holds and items put aside until now, and write their history."""

    name = "queues.sweep-claims"
    title = _("Free expired holds")
    every = timedelta(minutes=1)
    spread = Spread.PLATFORM
    selects = sweeping.queues_to_sweep
    runs = sweeping.sweep_queue
    batch_size = 200
    misfire = Misfire.ONCE
    still_going = StillGoing.SKIP
    attempts, backoff, max_duration = 3, Backoff(), timedelta(minutes=5)
    retention = "schedules.frequent_retention"
    failure = NoConsequence(_("An expired hold is free whether it was swept or not."))
    runbook = schedules.runbook_of("queues.sweep-claims")


@schedules.register
class EndOverrides(ScheduledJob):
    """Put the rule's score back where one that somebody set has ended."""

    name = "queues.end-overrides"
    title = _("End overrides of scores")
    every = timedelta(minutes=1)
    spread = Spread.PLATFORM
    selects = overriding.queues_with_ended
    runs = overriding.end_overrides
    batch_size = 200
    misfire = Misfire.ONCE
    still_going = StillGoing.SKIP
    attempts, backoff, max_duration = 3, Backoff(), timedelta(minutes=5)
    retention = "schedules.frequent_retention"
    failure = Consequence(_("An item stays at a score whose time is over; its page says so."))
    runbook = schedules.runbook_of("queues.end-overrides")


@schedules.register
class Rescore(ScheduledJob):
    """Score open items again, because age counts in whole hours and days."""

    name = "queues.rescore"
    title = _("Score the queues again")
    cron = "5 * * * *"
    spread = Spread.PLATFORM
    selects = sweeping.ranges_to_score
    runs = scoring.rescore_batch
    batch_size = 100
    misfire = Misfire.ONCE
    still_going = StillGoing.SKIP
    attempts, backoff, max_duration = 3, Backoff(), timedelta(minutes=30)
    retention = "schedules.retention"
    failure = Consequence(_("Older items may stand further down than their age deserves."))
    runbook = schedules.runbook_of("queues.rescore")


@schedules.register
class TallyQueues(ScheduledJob):
    """Keep what happened in each quarter of an hour, so that the overview counts it once."""

    name = "queues.tally"
    title = _("Count the queues' past")
    every = timedelta(minutes=5)
    spread = Spread.PLATFORM
    selects = tallying.tenants_to_tally
    runs = tallying.tally_tenant
    batch_size = 200
    misfire = Misfire.ONCE
    still_going = StillGoing.SKIP
    attempts, backoff, max_duration = 3, Backoff(), timedelta(minutes=10)
    retention = "schedules.frequent_retention"
    failure = NoConsequence(_("The overview counts what is not kept; it is only slower."))
    runbook = schedules.runbook_of("queues.tally")


@schedules.register
class ForgetBulkRuns(ScheduledJob):
    """Remove the results of what was done to many items once they are old."""

    name = "queues.forget-bulk-runs"
    title = _("Remove old results of bulk actions")
    cron = "35 3 * * *"
    spread = Spread.PLATFORM
    selects = bulk_forgetting.tenants_with_old
    runs = bulk_forgetting.forget_runs
    batch_size = 100
    misfire = Misfire.ONCE
    still_going = StillGoing.SKIP
    attempts, backoff, max_duration = 3, Backoff(), timedelta(minutes=30)
    retention = "schedules.retention"
    failure = NoConsequence(_("Old results stay readable for longer; the items' own histories are apart."))
    runbook = schedules.runbook_of("queues.forget-bulk-runs")
