"""Cancel a job: at once while it waits; by asking its run while it runs."""

from __future__ import annotations

import json

from django.utils.translation import gettext_lazy as _

from backoffice.commands import Actor, Outcome, command
from backoffice.errors import Refusal
from backoffice.jobs import reaching, settling, statements
from backoffice.jobs.errors import SettlementRefused
from backoffice.jobs.models import Job
from backoffice.jobs.settling import Ground
from backoffice.jobs.states import JobState


def request_cancel(*, job: Job, by: str) -> bool:
    """Cancel the waiting job, or ask the running one to stop, in the caller's transaction.

    For command bodies. A run observes it at its next report, guard or check, and is killed when it
    does not within its kind's grace. False when the job has ended.
    """
    job.refresh_from_db()
    if job.is_final:
        return False
    for _turn in range(3):  # it may be claimed, or given back, between two statements
        try:
            settling.settle(
                job_id=job.pk,
                fence=job.fence,
                state=JobState.CANCELLED,
                ground=Ground.KEEPER,
                code="cancelled",
                was=JobState.QUEUED,
            )
        except SettlementRefused:
            statements.on_django("request_cancel", {"id": job.pk, "data": json.dumps({"by": by})})
        job.refresh_from_db()
        if job.state == JobState.CANCELLED or job.cancel_requested_at is not None:
            return True
        if job.is_final:
            return False
    return False


@command("job.cancel", permission="jobs.view_job", systems=("shell",))
def cancel(*, actor: Actor, job_id: int) -> Outcome:
    """Cancel a job of one's own; an operator may cancel any."""
    job = reaching.for_change(actor=actor, job_id=job_id)
    with reaching.scope_of(job):
        if not request_cancel(job=job, by=actor.name):
            raise Refusal("job-ended", _("This job has ended already."))
    return Outcome(target=f"job:{job.pk}", data={"state": job.state})
