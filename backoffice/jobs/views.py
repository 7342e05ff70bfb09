"""The monitor: a tenant's jobs for its people; on the platform, all tenants' jobs for operators."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext_lazy

from backoffice import commands
from backoffice.commands import Command
from backoffice.errors import Refusal
from backoffice.jobs import cancelling, reaching, replaying, showing
from backoffice.jobs.base import kinds
from backoffice.jobs.models import Job
from backoffice.jobs.states import JobState
from backoffice.pages import Page

PAGE = 50


class Jobs(Page):
    """List the jobs, the newest first."""

    permission = "jobs.view_job"
    title = gettext_lazy("Jobs")
    template_name = "jobs/list.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        state = request.GET.get("state", "")
        if state not in JobState.values:
            state = ""
        before = _number(request.GET.get("before", ""))
        with reaching.looking(self.person):
            jobs = Job.objects.select_related("tenant", "requested_by").order_by("-id")
            if state:
                jobs = jobs.filter(state=state)
            if before:
                jobs = jobs.filter(pk__lt=before)
            rows = showing.rows(jobs[: PAGE + 1])
        more = len(rows) > PAGE
        rows = rows[:PAGE]
        context = {
            "rows": rows,
            "states": JobState.choices,
            "state": state,
            "before": before,
            "next": rows[-1].job.pk if more else None,
            "all_tenants": reaching.sees_all(self.person),
        }
        return self.page(context)


class OneJob(Page):
    """Show one job; the part that changes is fetched again every two seconds while it lives."""

    permission = "jobs.view_job"
    template_name = "jobs/job.html"

    def get(self, request: HttpRequest, job_id: int) -> HttpResponse:
        return self.show(job_id)

    def show(self, job_id: int, *, status: int = 200, **more: Any) -> HttpResponse:
        """Render the page, or only its live part for htmx."""
        job_id = _number(str(job_id))
        with reaching.looking(self.person):
            found = Job.objects.select_related("tenant", "requested_by").filter(pk=job_id).first()
            if found is None:
                raise Http404
            told = showing.tell(found)
            replay = Job.objects.filter(replay_of_id=found.pk).first()
        mine = reaching.may_change(self.person, found)
        replayable = found.kind in kinds and kinds.get(found.kind).replayable and found.occurrence is None
        context = {
            "title": f"{told.title} ({found.pk})",
            "told": told,
            "job": found,
            "all_tenants": reaching.sees_all(self.person),
            "replay": replay,
            "may_cancel": mine and not found.is_final and found.cancel_requested_at is None,
            "may_retry": mine and found.state in (JobState.FAILED, JobState.CANCELLED) and replayable and not replay,
            **more,
        }
        part = self.request.headers.get("HX-Request") == "true"
        return self.page(context, template="jobs/_job.html" if part else "", status=status)


class ChangeJob(OneJob):
    """Take a POST that cancels or retries the job."""

    act: Command
    done: Any = ""
    http_method_names = ["post", "options"]

    def post(self, request: HttpRequest, job_id: int) -> HttpResponse:
        key = request.POST.get("key", "")
        try:
            outcome = commands.dispatch(self.act, actor=self.actor, key=key, job_id=_number(str(job_id)))
        except Refusal as refusal:
            if refusal.code == "no-such-job":
                raise Http404 from None
            return self.show(job_id, status=403 if refusal.code == "not-yours" else 409, refusal=refusal)
        messages.success(request, str(self.done))
        return redirect("job", outcome.data.get("job", job_id))


class CancelJob(ChangeJob):
    """Cancel the job."""

    act = cancelling.cancel
    done = gettext_lazy("The job is being cancelled.")


class RetryJob(ChangeJob):
    """Run the ended job again as a new one."""

    act = replaying.retry
    done = gettext_lazy("The job runs again as this new one.")


def _number(text: str) -> int:
    """Read a key; what is none reads as 0, which names no job."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else 0
