"""End a run: settle its job for good, or give it back for another execution. Each under (id, fence).

What people may read of a failure is a Refusal's words or one of the sentences here, with a reference
to the log. Nothing of an exception reaches the record.
"""

from __future__ import annotations

import json
from datetime import timedelta
from enum import StrEnum
from typing import Any
from uuid import uuid4

import structlog
from django.utils.translation import gettext as _

from backoffice.jobs import statements
from backoffice.jobs.errors import SettlementRefused
from backoffice.jobs.statements import Execute
from backoffice.jobs.states import EventName, JobState

log = structlog.get_logger(__name__)


class Ground(StrEnum):
    """Whose right it is to end a run."""

    LIVE = "live"  # the run itself, while its lease lives
    KEEPER = "any"  # the worker that kept the lease, once the run is dead
    RECONCILER = "over"  # anybody, once the lease or the deadline is over


def reference() -> str:
    """Make the reference that joins a safe sentence to a log entry."""
    return uuid4().hex[:12]


def unexpected(ref: str) -> str:
    return _("Something unexpected went wrong. Reference for the operators: %s.") % ref


def lost(ref: str) -> str:
    return _("The worker was lost each time this was tried. Reference for the operators: %s.") % ref


def overdue() -> str:
    return _("It took longer than it may, and was stopped.")


def settle(
    *,
    job_id: int,
    fence: int,
    state: JobState,
    ground: Ground,
    reason: str = "",
    code: str = "",
    was: JobState = JobState.RUNNING,
    if_cancelling: bool = False,
    execute: Execute = statements.on_django,
) -> None:
    """Settle the job in this final state. Raises SettlementRefused when it is settled or held by another."""
    words = statements.storable(reason)
    rows = execute(
        "settle",
        {
            "id": job_id,
            "fence": fence,
            "state": str(state),
            "was": str(was),
            "reason": words,
            "code": code,
            "lease": str(ground),
            "if_cancelling": if_cancelling,
            "data": json.dumps({"reason": words, "code": code} if words or code else {}),
            **{key: [] for key in statements.MOVES},
        },
    )
    if not rows:
        log.info("job.settlement-refused", job=job_id, fence=fence, state=str(state))
        raise SettlementRefused(f"job {job_id} is not fence {fence}'s to settle")
    log.info("job.settled", job=job_id, fence=fence, state=str(state), code=code)


def give_back(
    *,
    job_id: int,
    fence: int,
    event: EventName,
    ground: Ground,
    wait: timedelta = timedelta(0),
    charged: bool = True,
    successor: str = "",
    data: dict[str, Any] | None = None,
    execute: Execute = statements.on_django,
) -> bool:
    """Queue the running job again. False when it may not be: ended, held by another, to be cancelled, or used up."""
    rows = execute(
        "requeue",
        {
            "id": job_id,
            "fence": fence,
            "wait": wait,
            "charged": charged,
            "successor": successor,
            "event": str(event),
            "lease": str(ground),
            "data": json.dumps(data or {}),
        },
    )
    if rows:
        log.info("job.given-back", job=job_id, fence=fence, event_name=str(event), wait=wait.total_seconds())
    return bool(rows)


def end_attempt(
    *,
    job_id: int,
    fence: int,
    event: EventName,
    ground: Ground,
    wait: timedelta,
    reason: str,
    code: str,
    ref: str,
    execute: Execute = statements.on_django,
) -> JobState | None:
    """End an attempt that did not succeed: cancelled when that was asked for, else again, else failed.

    Returns the state it left the job in, or None when the job is no longer this fence's.
    """
    again = give_back(
        job_id=job_id,
        fence=fence,
        event=event,
        ground=ground,
        wait=wait,
        data={"reference": ref, "wait_seconds": wait.total_seconds()},
        execute=execute,
    )
    if again:
        return JobState.QUEUED
    for state, words, why in ((JobState.CANCELLED, "", "cancelled"), (JobState.FAILED, reason, code)):
        try:
            settle(
                job_id=job_id,
                fence=fence,
                state=state,
                ground=ground,
                reason=words,
                code=why,
                if_cancelling=state is JobState.CANCELLED,
                execute=execute,
            )
        except SettlementRefused:
            continue
        return state
    return None
