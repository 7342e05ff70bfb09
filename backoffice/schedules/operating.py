"""What operators do with schedules: pause, resume, replay, run now. Each is a command."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from backoffice.commands import Actor, Outcome, command
from backoffice.errors import Refusal
from backoffice.jobs.models import Job
from backoffice.schedules import base, fanning_out, materialising, opening, overview
from backoffice.schedules.base import ManualJob, RunsWhere, ScheduledJob
from backoffice.schedules.models import Occurrence, Schedule
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant, User

OPERATE = "schedules.operate_schedule"
REPLAYABLE = (Occurrence.State.DEAD_LETTER, Occurrence.State.SKIPPED)


@command("schedule.pause", permission=OPERATE, systems=("shell",))
def pause_schedule(*, actor: Actor, schedule_id: int) -> Outcome:
    """Stop the schedule. What was due until now still runs; a run already going is not stopped."""
    row = _lock(schedule_id)
    job = _definition(row)
    now = materialising.database_now()
    if row.paused_at is not None:
        raise Refusal("already-paused", _("This schedule is paused already."))
    with scope.open(row.tenant):
        fanning_out.plan_until(row, job=job, now=now)
        Schedule.objects.filter(pk=row.pk).update(paused_at=now, paused_by=actor.name)
    return Outcome(target=f"schedule:{row.pk}", data={"definition": row.definition})


@command("schedule.resume", permission=OPERATE, systems=("shell",))
def resume_schedule(*, actor: Actor, schedule_id: int) -> Outcome:
    """Go on from now. The instants that passed meanwhile are counted and left out."""
    row = _lock(schedule_id)
    job = _definition(row)
    now = materialising.database_now()
    if row.paused_at is None:
        raise Refusal("not-paused", _("This schedule is not paused."))
    with scope.open(row.tenant):
        passed = fanning_out.leave_out(row, now=now)
        upcoming = fanning_out.next_instant(job, after=max(row.cursor, now))
        Schedule.objects.filter(pk=row.pk).update(paused_at=None, paused_by="", next_at=upcoming)
    return Outcome(target=f"schedule:{row.pk}", data={"definition": row.definition, "left_out": passed})


@command("schedule.run", permission=OPERATE, systems=("shell",))
def run_schedule(*, actor: Actor, schedule_id: int) -> Outcome:
    """Open an occurrence at this moment, outside the timetable. A manual job stays inside its guard."""
    row = _lock(schedule_id)
    job = _definition(row)
    now = materialising.database_now()
    if isinstance(job, ManualJob):
        check_guard(job, actor=actor, now=now)
    # Planned instants are whole seconds, so that this one is never one of them.
    at = now if now.microsecond else now + timedelta(microseconds=1)
    requester = _requester(actor, row.tenant)
    with scope.open(row.tenant):
        occurrence = Occurrence.objects.create(tenant=row.tenant, schedule=row, scheduled_at=at, manual=True)
        made = opening.submit(occurrence, job_name=row.definition, requested_by=requester)
    return Outcome(target=f"schedule:{row.pk}", data={"occurrence": occurrence.pk, "job": made.pk})


@command("occurrence.replay", permission=OPERATE, systems=("shell",))
def replay_occurrence(*, actor: Actor, occurrence_id: int) -> Outcome:
    """Open a new job under the same identity and instant; what was done already has no second effect."""
    with overview.reach():
        found = Occurrence.objects.filter(pk=occurrence_id).select_related("schedule").first()
    if found is None:
        raise Refusal("unknown-occurrence", _("There is no such occurrence."))
    row = _lock(found.schedule_id)
    _definition(row)
    requester = _requester(actor, row.tenant)
    with scope.open(row.tenant):
        occurrence = Occurrence.objects.select_for_update().get(pk=occurrence_id)
        if occurrence.live:
            raise Refusal("still-going", _("A run of this occurrence has not ended. Cancel its job first."))
        if occurrence.state not in REPLAYABLE:
            raise Refusal("not-replayable", _("Only a dead letter or a skipped occurrence is replayed."))
        last = Job.objects.filter(occurrence=occurrence.pk).order_by("-id").first()
        made = opening.submit(occurrence, job_name=row.definition, replay_of=last, requested_by=requester)
    data = {"identity": occurrence.identity, "job": made.pk, "replay_of": last.pk if last else None}
    return Outcome(target=f"occurrence:{occurrence.pk}", data=data)


def check_guard(job: ManualJob, *, actor: Actor, now: datetime) -> None:
    """Refuse a manual run by the wrong person, at the wrong time, or in the wrong deployment.

    Whoever has a shell on the machine is an operator; the hours and the place bind a shell too.
    """
    if actor.user is not None and not actor.user.has_perm(job.guard.permission):
        raise Refusal("guarded", _("This job's guard does not let you run it."))
    if not job.guard.allows(now):
        raise Refusal("outside-hours", _("This job may only run: %(hours)s.") % {"hours": job.guard.hours})
    if job.runs_where is RunsWhere.EMBEDDED and not settings.EMBEDDED_DATABASE:
        raise Refusal("wrong-place", _("This job runs on the embedded database only."))


def check_inside(job: ScheduledJob | ManualJob, tenant: Tenant) -> None:
    """Refuse an item of a manual run that lies outside where the job may run."""
    if isinstance(job, ManualJob) and job.runs_where is RunsWhere.DEMO and not tenant.demo:
        raise Refusal("wrong-place", _("This job touches demo tenants only."))


def _lock(schedule_id: int) -> Schedule:
    with overview.reach():
        row = Schedule.objects.select_related("tenant").select_for_update(of=("self",)).filter(pk=schedule_id).first()
    if row is None:
        raise Refusal("unknown-schedule", _("There is no such schedule."))
    return row


def _definition(row: Schedule) -> ScheduledJob | ManualJob:
    if row.retired_at is not None or row.definition not in base.jobs:
        raise Refusal("retired", _("This schedule's definition is gone."))
    return base.jobs.get(row.definition)


def _requester(actor: Actor, tenant: Tenant) -> User | None:
    """Name the person as requester in their own tenant only."""
    return actor.user if tenant == scope.current() else None
