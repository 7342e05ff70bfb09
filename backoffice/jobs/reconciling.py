"""The reconciler: what was not dispatched, was lost, or lost its worker goes on. Safe in several copies.

It is a loop in the scheduler's process, never a job. Each pass is a few short transactions, and each
change a conditional one, so that two copies meeting at one job make one change.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

import structlog
from django.db import transaction

from backoffice.jobs import dispatching, settling, statements
from backoffice.jobs.base import kinds
from backoffice.jobs.dispatching import Dispatch
from backoffice.jobs.errors import SettlementRefused
from backoffice.jobs.models import Job
from backoffice.jobs.settling import Ground
from backoffice.jobs.states import QUEUES, EventName, JobState
from backoffice.tenants import scope

log = structlog.get_logger(__name__)

BATCH = 500
UNKNOWN_AGAIN = timedelta(minutes=5)
_REASON = "the reconciler looks after the jobs of all tenants"


class Due(NamedTuple):
    """A queued job that must be looked at."""

    id: int
    kind: str
    queue: str
    dispatch_no: int
    dispatched_at: datetime | None
    fence: int
    attempt: int
    max_attempts: int
    cancelling: bool


def reconcile() -> int:
    """Do one pass of everything; return how many jobs it changed."""
    return end_overdue() + dispatch_due()


def end_overdue() -> int:
    """Give back or end the running jobs whose lease or deadline is over. Needs no broker."""
    with scope.unscoped(reason=_REASON):
        return sum(_end(*row) for row in statements.on_django("overdue", {"limit": BATCH}))


def _end(job_id: int, kind: str, fence: int, attempt: int, most: int, late: bool) -> int:
    if late:
        return _settle(job_id, fence, JobState.FAILED, settling.overdue(), "deadline")
    ref = settling.reference()
    log.warning("job.lease-expired", job=job_id, kind=kind, fence=fence, attempt=attempt, of=most, reference=ref)
    left = settling.end_attempt(
        job_id=job_id,
        fence=fence,
        event=EventName.LOST,
        ground=Ground.RECONCILER,
        wait=timedelta(0),
        reason=settling.lost(ref),
        code="lost",
        ref=ref,
    )
    return int(left is not None)


def dispatch_due() -> int:
    """Send the queued jobs that were never sent, whose retry has come, or whose message is gone."""
    with scope.unscoped(reason=_REASON):
        if not statements.on_django("any_due", {}):
            return 0
        oldest = {name: _oldest_message(name) for name in QUEUES}  # the broker is asked outside the transaction
        with transaction.atomic():
            due = [Due(*row) for row in statements.on_django("due", {"limit": BATCH})]
            known = [one for one in due if one.kind in kinds]
            ended = [one for one in known if one.cancelling]
            waiting = {one.id for one in known if not one.cancelling and _still_queued(one, oldest)}
            unsent = {one.id for one in known} - {one.id for one in ended} - waiting
            if waiting:
                statements.on_django("postpone", {"ids": sorted(waiting), "again": dispatching.UNCLAIMED})
            rows = statements.on_django("mark_dispatched", {"ids": sorted(unsent), "again": dispatching.UNCLAIMED})
        for one in due:
            if one.kind not in kinds:
                alert_unknown(job_id=one.id, kind=one.kind)
        for one in ended:
            _settle(one.id, one.fence, JobState.CANCELLED, "", "cancelled", was=JobState.QUEUED)
        _push([Dispatch(*row) for row in rows])
        return len(rows) + len(ended)


def alert_unknown(*, job_id: int, kind: str) -> None:
    """Leave a job of a kind that no code here knows, and say so once."""
    if statements.on_django("alert_unknown", {"id": job_id, "again": UNKNOWN_AGAIN}):
        log.error("job.unknown-kind", job=job_id, kind=kind)


def _push(dispatches: list[Dispatch]) -> None:
    if not dispatches:
        return
    try:
        dispatching.push(dispatches)
    except Exception:
        dispatching.unmark(dispatches)
        raise
    log.info("job.dispatched", count=len(dispatches))


def _oldest_message(queue: str) -> datetime | None:
    """Return when the message at the head of the queue was sent; None for an empty queue or a message of no job."""
    head = dispatching.head(queue)
    row = Job.objects.filter(pk=head[0], dispatch_no=head[1]).first() if head else None
    return row.dispatched_at if row else None


def _still_queued(one: Due, oldest: dict[str, datetime | None]) -> bool:
    """Say whether the job's message can still be in its queue: the queue gives out older ones first.

    So one look at the head answers for all, and a long queue is not filled with repetitions.
    """
    head = oldest.get(one.queue)
    return one.dispatched_at is not None and head is not None and head <= one.dispatched_at


def _settle(
    job_id: int, fence: int, state: JobState, reason: str, code: str, *, was: JobState = JobState.RUNNING
) -> int:
    ground = Ground.RECONCILER if was is JobState.RUNNING else Ground.KEEPER
    try:
        settling.settle(job_id=job_id, fence=fence, state=state, ground=ground, reason=reason, code=code, was=was)
    except SettlementRefused:
        return 0
    return 1
