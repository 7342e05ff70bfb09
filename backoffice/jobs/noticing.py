"""Notices: who asked for a job reads how it ended, what that means, and what it changed or did not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models.functions import Now
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from backoffice.commands import Actor, Outcome, command
from backoffice.errors import Refusal
from backoffice.jobs import reaching, showing
from backoffice.jobs.base import kinds
from backoffice.jobs.models import Job, JobEvent, Notice
from backoffice.jobs.showing import JOB_BADGES
from backoffice.jobs.states import JobState
from backoffice.tenants.models import User

COUNTED = 100


@dataclass
class Told:
    """A notice in words."""

    notice: Notice
    title: str
    state: str
    badge: str
    words: list[str]
    address: str = ""


def unread(person: User) -> int:
    """Count the person's unread notices, up to COUNTED."""
    with reaching.looking(person):
        return Notice.objects.filter(person=person, read_at__isnull=True)[:COUNTED].count()


def page(*, person: User, before: int, size: int) -> list[Told]:
    """Return a page of the person's notices, the newest first; from the platform, an operator's of all tenants."""
    with reaching.looking(person):
        notices = Notice.objects.filter(person=person).select_related("tenant", "job").order_by("-id")
        return tell(list((notices.filter(pk__lt=before) if before else notices)[:size]))


def tell(notices: Sequence[Notice]) -> list[Told]:
    """Put the notices into words: by what each job published at its submission, and what it did."""
    ids = [notice.job_id for notice in notices]
    published = {event.job_id: event.data for event in JobEvent.objects.filter(job_id__in=ids, seq=1)}
    outcomes = showing.outcomes([notice.job for notice in notices], published)
    return [_tell(notice, published.get(notice.job_id, {}), outcomes[notice.job_id]) for notice in notices]


def _tell(notice: Notice, published: dict[str, Any], outcome: str) -> Told:
    job = notice.job
    state = JobState(job.state)
    return Told(
        notice=notice,
        title=str(published.get("title") or job.kind),
        state=str(state.label),
        badge=JOB_BADGES[state],
        words=_words(job, published, outcome),
        address=kinds.get(job.kind).address(job) if job.kind in kinds else "",
    )


def _words(job: Job, published: dict[str, Any], outcome: str) -> list[str]:
    if job.state == JobState.SUCCEEDED:
        return [outcome]
    if job.state == JobState.CANCELLED:
        return [_("It was cancelled."), outcome]
    means = str(published.get("failure", ""))
    nothing = _("Nothing else is changed by this failure.") + f" {published.get('no_consequence', '')}"
    return [job.safe_reason, means or nothing.strip(), outcome]


@command("notice.read", permission="jobs.view_job")
def read(*, actor: Actor, notice_id: int) -> Outcome:
    """Mark a notice of one's own as read. Once is for good."""
    with reaching.looking(actor.user):
        mine = Notice.objects.filter(person=actor.user, pk=notice_id)
        if not mine.exists():
            raise Refusal("no-such-notice", gettext_lazy("There is no such notice."))
        count = mine.filter(read_at__isnull=True).update(read_at=Now())
    return Outcome(target=f"notice:{notice_id}", data={"read": count})


@command("notice.read-all", permission="jobs.view_job")
def read_all(*, actor: Actor, up_to: int) -> Outcome:
    """Mark one's notices as read, up to the newest that one has seen."""
    with reaching.looking(actor.user):
        mine = Notice.objects.filter(person=actor.user, pk__lte=up_to, read_at__isnull=True)
        count = mine.update(read_at=Now())
    return Outcome(target=f"notice:{up_to}", data={"read": count})
