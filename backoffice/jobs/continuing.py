"""Hand a running job over to a successor execution: the handle and its history in one statement.

An execution's handle is "<job>/<fence>". The next claim always takes the next fence, so the successor's
handle is known before it runs.
"""

from __future__ import annotations

from backoffice.jobs import settling, statements
from backoffice.jobs.errors import ContinuationRefused
from backoffice.jobs.models import Job, JobEvent
from backoffice.jobs.settling import Ground
from backoffice.jobs.statements import Execute
from backoffice.jobs.states import EventName


def next_handle(*, job_id: int, fence: int) -> str:
    """Name the execution that follows this fence's."""
    return f"{job_id}/{fence + 1}"


def hand_over(
    *,
    job_id: int,
    fence: int,
    source: str,
    successor: str,
    ground: Ground = Ground.LIVE,
    execute: Execute = statements.on_django,
) -> None:
    """Queue the job for its successor; it costs no attempt.

    The same move again is accepted and changes nothing. Raises ContinuationRefused when `source` is
    not the job's execution, and when the job ended or is to be cancelled.
    """
    if source != f"{job_id}/{fence}" or successor != next_handle(job_id=job_id, fence=fence):
        raise ContinuationRefused(f"{source} to {successor} is no move of job {job_id}")
    moved = settling.give_back(
        job_id=job_id,
        fence=fence,
        event=EventName.CONTINUED,
        ground=ground,
        charged=False,
        successor=successor,
        data={"source": source, "successor": successor},
        execute=execute,
    )
    if not moved and not _recorded(job_id, source, successor):
        raise ContinuationRefused(f"{source} does not hold job {job_id}")


def _recorded(job_id: int, source: str, successor: str) -> bool:
    move = {"source": source, "successor": successor}
    return JobEvent.objects.filter(job_id=job_id, name=EventName.CONTINUED, data=move).exists()


def lineage(job: Job) -> list[str]:
    """Return the handles of the job's executions, the first one first."""
    claims = job.events.filter(name=EventName.CLAIMED).order_by("seq")
    return [event.data["execution"] for event in claims]
