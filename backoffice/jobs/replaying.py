"""Run an ended job again, as a new job that names the old one."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from backoffice.commands import Actor, Outcome, command
from backoffice.errors import Refusal
from backoffice.jobs import reaching, submitting
from backoffice.jobs.base import kinds
from backoffice.jobs.states import JobState


@command("job.retry", permission="jobs.view_job", systems=("shell",))
def retry(*, actor: Actor, job_id: int) -> Outcome:
    """Submit the failed or cancelled job again with the same arguments. A job has one such successor."""
    old = reaching.for_change(actor=actor, job_id=job_id)
    if old.state not in (JobState.FAILED, JobState.CANCELLED):
        raise Refusal("not-ended", _("Only a job that failed or was cancelled can be run again."))
    if old.occurrence is not None:
        raise Refusal("scheduled", _("This job belongs to a schedule: replay its occurrence instead."))
    if old.kind not in kinds or not kinds.get(old.kind).replayable:
        raise Refusal("not-replayable", _("This kind of work is not run again from here."))
    with reaching.scope_of(old):
        new = submitting.submit(
            kind=old.kind,
            key=f"retry:{old.pk}",
            arguments=old.arguments,
            requested_by=actor.user or old.requested_by,
            replay_of=old.pk,
        )
    return Outcome(target=f"job:{new.pk}", data={"job": new.pk, "replay_of": old.pk})
