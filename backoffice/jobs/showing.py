"""What the pages show of jobs. Titles and steps come from each job's own history, not from today's code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from backoffice.jobs.base import kinds
from backoffice.jobs.models import Job, JobEvent, JobStep
from backoffice.jobs.states import EventName, JobState, StepState

JOB_BADGES = {
    JobState.QUEUED: "badge--muted",
    JobState.RUNNING: "badge--warn",
    JobState.SUCCEEDED: "badge--ok",
    JobState.FAILED: "badge--bad",
    JobState.CANCELLED: "badge--muted",
}
STEP_BADGES = {
    StepState.QUEUED: "badge--muted",
    StepState.RUNNING: "badge--warn",
    StepState.SUCCEEDED: "badge--ok",
    StepState.FAILED: "badge--bad",
    StepState.SKIPPED: "badge--muted",
}
_ENDS = {
    EventName.RETRY: gettext_lazy("failed for the moment"),
    EventName.LOST: gettext_lazy("its worker was lost"),
    EventName.INTERRUPTED: gettext_lazy("interrupted by an outage"),
    EventName.CONTINUED: gettext_lazy("handed to a successor"),
    EventName.SUCCEEDED: gettext_lazy("succeeded"),
    EventName.FAILED: gettext_lazy("failed"),
    EventName.CANCELLED: gettext_lazy("cancelled"),
}
MOST_EVENTS = 200


@dataclass
class Row:
    """A job as a list shows it."""

    job: Job
    title: str
    badge: str
    tenant: str
    requested_by: str


@dataclass
class StepRow:
    """A step as the page shows it, by its published title."""

    title: str
    step: JobStep
    badge: str


@dataclass
class Attempt:
    """One execution: when a worker took the job, and how it ended."""

    execution: str
    started: JobEvent
    ended: JobEvent | None = None
    end: str = ""


@dataclass
class Told:
    """A job with its published catalog and its history."""

    job: Job
    title: str
    badge: str
    state: str
    failure: str
    no_consequence: str
    outcome: str = ""
    steps: list[StepRow] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    more_events: bool = False


def catalog(job: Job) -> dict[str, Any]:
    """Return what the job's submitted event published: title, steps, what a failure means."""
    event = JobEvent.objects.filter(job_id=job.pk, name=EventName.SUBMITTED).first()
    return event.data if event is not None else {"title": job.kind, "steps": []}


def rows(jobs: Iterable[Job]) -> list[Row]:
    """Return the jobs as a list shows them; one query for all titles."""
    found = list(jobs)
    events = JobEvent.objects.filter(job_id__in=[job.pk for job in found], seq=1)
    titles = {event.job_id: str(event.data.get("title", "")) for event in events}
    return [
        Row(
            job=job,
            title=titles.get(job.pk) or job.kind,
            badge=JOB_BADGES[JobState(job.state)],
            tenant=job.tenant.name,
            requested_by=str(job.requested_by) if job.requested_by else _("the system"),
        )
        for job in found
    ]


def outcomes(jobs: Sequence[Job], published: Mapping[int, Mapping[str, Any]]) -> dict[int, str]:
    """Say of each ended job what it changed and what not: counted by its kind, else by its steps.

    A kind that no code knows any more, and effects that are gone, leave what the job itself published.
    """
    done = Count("pk", filter=Q(state=StepState.SUCCEEDED))
    ids = [job.pk for job in jobs]
    counted = JobStep.objects.filter(job_id__in=ids).order_by().values("job_id").annotate(done=done, total=Count("pk"))
    steps = {row["job_id"]: (row["done"], row["total"]) for row in counted}
    by_kind: dict[str, list[Job]] = {}
    for job in jobs:
        by_kind.setdefault(job.kind, []).append(job)
    found: dict[int, str] = {}
    for name, its in by_kind.items():
        found |= kinds.get(name).changed(its) if name in kinds else {}
    for job in jobs:
        if job.pk not in found:
            found[job.pk] = _by_steps(job, published.get(job.pk, {}), *steps.get(job.pk, (0, 0)))
    return found


def _by_steps(job: Job, published: Mapping[str, Any], done: int, total: int) -> str:
    if job.state == JobState.SUCCEEDED:
        return str(published.get("changes") or _("It is done."))
    if not done:
        return _("None of its steps was done.")
    words = _("%(done)s of its %(total)s steps were done before; what they did stays done.")
    return words % {"done": done, "total": total}


def tell(job: Job) -> Told:
    """Read the whole of one job."""
    published = catalog(job)
    by_name = {step.name: step for step in JobStep.objects.filter(job_id=job.pk)}
    titles = {one["name"]: str(one["title"]) for one in published["steps"]}
    latest = list(JobEvent.objects.filter(job_id=job.pk).order_by("-seq")[: MOST_EVENTS + 1])
    events = latest[:MOST_EVENTS]
    state = (
        _("stopping") if job.state == JobState.RUNNING and job.cancel_requested_at else str(JobState(job.state).label)
    )
    return Told(
        job=job,
        title=str(published.get("title") or job.kind),
        badge=JOB_BADGES[JobState(job.state)],
        state=state,
        failure=str(published.get("failure", "")),
        no_consequence=str(published.get("no_consequence", "")),
        outcome=outcomes([job], {job.pk: published})[job.pk] if job.is_final else "",
        steps=[
            StepRow(titles[name], by_name[name], STEP_BADGES[StepState(by_name[name].state)])
            for name in titles
            if name in by_name
        ],
        attempts=_attempts(sorted(events, key=lambda event: event.seq)),
        events=[_line(event, titles) for event in events],
        more_events=len(latest) > MOST_EVENTS,
    )


def _attempts(events: list[JobEvent]) -> list[Attempt]:
    found: list[Attempt] = []
    for event in events:
        if event.name == EventName.CLAIMED:
            found.append(Attempt(execution=str(event.data.get("execution", "")), started=event))
        elif event.name in _ENDS and found:
            found[-1].ended, found[-1].end = event, str(_ENDS[EventName(event.name)])
    return found


def _line(event: JobEvent, titles: dict[str, str]) -> dict[str, Any]:
    step = str(event.data.get("step", ""))
    known = event.name in EventName.values
    return {
        "event": event,
        "words": str(EventName(event.name).label) if known else event.name,
        "about": titles.get(step, step) or str(event.data.get("reason", "")),
        "reference": str(event.data.get("reference", "")),
    }
