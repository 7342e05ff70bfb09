"""The schedules pages: what fires when, how it went, and the operator's acts."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from backoffice import clock, commands
from backoffice.audit import recording
from backoffice.commands import Command
from backoffice.errors import Refusal
from backoffice.jobs.models import Job
from backoffice.pages import Page
from backoffice.schedules import operating, overview
from backoffice.schedules.base import ManualJob
from backoffice.schedules.models import Occurrence, Schedule

VIEW = "schedules.view_schedule"
ACTIONS: dict[str, tuple[Command, Any]] = {
    "pause": (operating.pause_schedule, gettext_lazy("Paused. A run that is going on is not stopped.")),
    "resume": (operating.resume_schedule, gettext_lazy("Resumed from now.")),
    "run": (operating.run_schedule, gettext_lazy("A run was started.")),
}


class Schedules(Page):
    """List the schedules."""

    permission = VIEW
    template_name = "schedules/schedules.html"
    title = gettext_lazy("Schedules")

    def get(self, request: HttpRequest) -> HttpResponse:
        return self.page({"lines": overview.lines(now=clock.now()), "platform": self.tenant.is_platform})


class ScheduleDetail(Page):
    """Show one schedule: its instants, its occurrences, what was left out, and its runbook."""

    permission = VIEW
    template_name = "schedules/schedule.html"

    def get(self, request: HttpRequest, schedule_id: int) -> HttpResponse:
        row, now = _row(schedule_id), clock.now()
        job = overview.definition(row)
        state = request.GET.get("state", "")
        if state not in Occurrence.State.values:
            state = ""
        return self.page(
            {
                "title": job.title if job is not None else row.definition,
                "row": row,
                "job": job,
                "described": job.describe() if job is not None else {},
                "about": " ".join((job.__doc__ or "").split()) if job is not None else "",
                "is_manual": isinstance(job, ManualJob),
                "timing": overview.Line(row, job, None, 0, overview.lag(row, now=now)).timing,
                "lag": overview.lag(row, now=now),
                "upcoming": overview.upcoming(row, viewer_zone=self.person.zone, now=now),
                "points": overview.recovery_points(row),
                "occurrences": overview.occurrences(row, state=state),
                "misfires": overview.misfires(row),
                "state": state,
                "states": Occurrence.State.choices,
                "may_operate": self.person.has_perm(operating.OPERATE),
            }
        )


class ScheduleAction(Page):
    """Pause, resume or run a schedule."""

    permission = operating.OPERATE
    http_method_names = ["post"]

    def post(self, request: HttpRequest, schedule_id: int, action: str) -> HttpResponse:
        if action not in ACTIONS:
            raise Http404
        _row(schedule_id)
        command, done = ACTIONS[action]
        try:
            commands.dispatch(command, actor=self.actor, key=request.POST.get("key", ""), schedule_id=schedule_id)
        except Refusal as refusal:
            messages.error(request, str(refusal.message))
        else:
            messages.success(request, str(done))
        return redirect("schedule", schedule_id=schedule_id)


class OccurrenceDetail(Page):
    """Show one occurrence: its lease, its attempts, its replays."""

    permission = VIEW
    template_name = "schedules/occurrence.html"

    def get(self, request: HttpRequest, occurrence_id: int) -> HttpResponse:
        occurrence = _occurrence(occurrence_id)
        with overview.reach():
            jobs = list(Job.objects.filter(occurrence=occurrence.pk).select_related("tenant").order_by("-id"))
        return self.page(
            {
                "title": _("Occurrence %(number)d") % {"number": occurrence.pk},
                "occurrence": occurrence,
                "row": occurrence.schedule,
                "job": overview.definition(occurrence.schedule),
                "jobs": jobs,
                "timeline": recording.timeline(target=f"occurrence:{occurrence.pk}")[:20],
                "may_replay": self.person.has_perm(operating.OPERATE)
                and occurrence.state in operating.REPLAYABLE
                and not occurrence.live,
            }
        )


class Replay(Page):
    """Replay a dead letter or a skipped occurrence."""

    permission = operating.OPERATE
    http_method_names = ["post"]

    def post(self, request: HttpRequest, occurrence_id: int) -> HttpResponse:
        _occurrence(occurrence_id)
        key = request.POST.get("key", "")
        try:
            commands.dispatch(operating.replay_occurrence, actor=self.actor, key=key, occurrence_id=occurrence_id)
        except Refusal as refusal:
            messages.error(request, str(refusal.message))
        else:
            messages.success(request, _("Replayed as a new run under the same identity."))
        return redirect("occurrence", occurrence_id=occurrence_id)


def _row(schedule_id: int) -> Schedule:
    with overview.reach():
        row = Schedule.objects.select_related("tenant").filter(pk=schedule_id).first()
    if row is None:
        raise Http404
    return row


def _occurrence(occurrence_id: int) -> Occurrence:
    with overview.reach():
        found = Occurrence.objects.select_related("schedule__tenant", "tenant").filter(pk=occurrence_id).first()
    if found is None:
        raise Http404
    return found
