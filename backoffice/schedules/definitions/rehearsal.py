"""A job that is only ever run by hand."""

from __future__ import annotations

from datetime import timedelta

from django.utils.translation import gettext_lazy as _

from backoffice import schedules
from backoffice.jobs import Backoff, NoConsequence
from backoffice.schedules import Guard, ManualJob, RunsWhere, Spread, rehearsing


@schedules.register
class Rehearsal(ManualJob):
    """Rehearse the runbooks: run it, look at it, replay it. It touches demo tenants only and changes nothing."""

    name = "schedules.rehearsal"
    title = _("Rehearse the runbooks")
    runs_where = RunsWhere.DEMO
    guard = Guard(permission="schedules.operate_schedule", hours=_("at any time"))
    spread = Spread.PLATFORM
    selects = rehearsing.demo_tenants
    runs = rehearsing.rehearse
    batch_size = 10
    attempts, backoff, max_duration = 2, Backoff(first=timedelta(seconds=1)), timedelta(minutes=1)
    retention = "schedules.retention"
    failure = NoConsequence(_("A rehearsal that fails is what a rehearsal is for."))
    runbook = schedules.runbook_of("schedules.rehearsal")
