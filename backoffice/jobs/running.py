"""The work-horse's side of a job: run its handler in its tenant, report, and end the attempt.

The worker's parent keeps the lease. The run never assumes that it does: each report and each guard
asks the record for (id, fence, running, lease alive), and a "no" ends the run without a trace.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from enum import IntEnum
from typing import Any

import structlog
from django.db import InterfaceError, OperationalError, connection, connections

from backoffice.errors import Refusal
from backoffice.jobs import continuing, settling, statements
from backoffice.jobs.base import JobKind, kinds
from backoffice.jobs.errors import Broken, Cancelled, SettlementRefused, StaleFence, Stopping
from backoffice.jobs.models import Job
from backoffice.jobs.relaying import Direct, Wire
from backoffice.jobs.settling import Ground
from backoffice.jobs.statements import Execute
from backoffice.jobs.states import STEP_FINAL, EventName, JobState, StepState
from backoffice.tenants import scope

log = structlog.get_logger(__name__)

REPORT_EVERY = 0.5  # seconds between two reports of lines
CONFIRMED_FOR = 0.1  # seconds for which an answer from the record stands
ASK_EVERY = 1.0  # seconds between two questions whether to cancel
LONGEST_TRACEBACK = 64_000
OUTAGE_WAIT = timedelta(seconds=5)
_STEP_EVENTS = {
    StepState.RUNNING: EventName.STEP_STARTED,
    StepState.SUCCEEDED: EventName.STEP_SUCCEEDED,
    StepState.FAILED: EventName.STEP_FAILED,
    StepState.SKIPPED: EventName.STEP_SKIPPED,
}


class Exit(IntEnum):
    """How a work-horse ends. Anything but RECORDED means that its attempt is still open in the record."""

    RECORDED = 0
    UNRECORDED = 3


class Run:
    """One execution of a job, as its handler sees it."""

    def __init__(
        self,
        *,
        job: Job,
        steps: Mapping[str, str],
        asked_to_stop: Callable[[], bool] = lambda: False,
        wire: Wire | None = None,
    ) -> None:
        self.job = job
        self.arguments: dict[str, Any] = dict(job.arguments)
        self.fence: int = job.fence
        self._steps = dict(steps)
        self._asked_to_stop = asked_to_stop
        self._current = ""
        self._reported_at = 0.0
        self._asked_at = time.monotonic()
        self._wire = wire or Direct()
        self.execute = self._wire.execute
        self._confirmed_at = time.monotonic()  # a run begins with a claim
        self._cancelling = False

    @contextmanager
    def step(self, name: str) -> Iterator[bool]:
        """Start the step and, at the block's end, record that it is done: along with what is reported next.

        So a run that dies between two steps does the one before again.

        Gives False when an earlier attempt finished it: `with run.step("write") as todo: if todo: ...`.
        Raises Stopping instead of starting one while the worker shuts down, Cancelled when that was asked for.
        """
        if name not in self._steps:
            raise ValueError(f"{self.job.kind} declared no step {name!r}")
        if self._current:
            raise ValueError(f"step {self._current!r} is still open")
        if self._steps[name] in STEP_FINAL:
            yield False
            return
        if self._asked_to_stop():
            raise Stopping(name)
        self._report(name, StepState.RUNNING)
        self._current = name
        try:
            yield True
        finally:
            self._current = ""
        self._report(name, StepState.SUCCEEDED)

    def skip(self, name: str) -> None:
        """Record that a declared step is not needed this time."""
        if self._steps[name] not in STEP_FINAL:
            self._report(name, StepState.SKIPPED)

    def report(self, done: int, total: int) -> None:
        """Say how many of how many lines of the open step are done. Throttled; raises as check_cancelled does."""
        now = time.monotonic()
        if now - self._reported_at < REPORT_EVERY and done < total:
            return
        if not self._current:
            raise ValueError("lines are reported within a step")
        self._reported_at = self._asked_at = now
        values = {**self._key, "step": self._current, "done": done, "total": total}
        self._heed(self.execute("report_lines", values))

    def guard(self) -> None:
        """Raise StaleFence unless this run still holds its job: for `commands.dispatch(..., guard=run.guard)`.

        It takes no lock, which would hold up the lease's renewal for the length of the command: a run
        that loses its lease after this check finishes the one command it is in, under that command's key.
        """
        self._heed(statements.on_django("look", self._key))

    def check_cancelled(self) -> None:
        """Raise Cancelled when the job is to be cancelled, StaleFence when it is no longer held. Asks once a second."""
        if time.monotonic() - self._asked_at >= ASK_EVERY:
            self._asked_at = time.monotonic()
            self._heed(self.execute("look", self._key))

    def check_stopping(self) -> None:
        """Raise Stopping when the worker shuts down: for a handler that keeps its place between two items of a step."""
        if self._asked_to_stop():
            raise Stopping(self._current)

    @property
    def _key(self) -> dict[str, Any]:
        return {"id": self.job.pk, "fence": self.fence}

    def _report(self, name: str, state: StepState) -> None:
        if connection.in_atomic_block:
            raise ValueError("steps are reported outside transactions: what is reported has happened")
        values = step_values(job_id=self.job.pk, fence=self.fence, step=name, state=state)
        self._wire.post("report_steps", values, self._heed_step, hurry=state is StepState.RUNNING)
        self._steps[name] = state
        if state is StepState.RUNNING:
            # What has just been confirmed need not be asked again before a step begins.
            self._wire.settle(wait=time.monotonic() - self._confirmed_at > CONFIRMED_FOR)
            if self._cancelling:
                raise Cancelled(f"job {self.job.pk}")

    def _heed_step(self, rows: statements.Rows) -> None:
        if not rows:
            log.info("job.report-discarded", job=self.job.pk, fence=self.fence)
            raise StaleFence(f"job {self.job.pk}, fence {self.fence}")
        self._cancelling = self._cancelling or bool(rows[0][0])
        self._confirmed_at = time.monotonic()

    def _heed(self, rows: statements.Rows) -> None:
        if not rows:
            raise StaleFence(f"job {self.job.pk}, fence {self.fence}")
        if rows[0][0]:
            raise Cancelled(f"job {self.job.pk}")


def report_step(
    *, job_id: int, fence: int, step: str, state: StepState, execute: Execute = statements.on_django
) -> bool | None:
    """Record a step's new state with the job's summary; return whether the job is to be cancelled.

    None when the report is discarded, because the job or the step has ended or another fence holds
    the job: that is logged, and leaves no history.
    """
    rows = execute("report_steps", step_values(job_id=job_id, fence=fence, step=step, state=state))
    if not rows:
        log.info("job.report-discarded", job=job_id, fence=fence, step=step, state=str(state))
        return None
    return bool(rows[0][0])


def step_values(*, job_id: int, fence: int, step: str, state: StepState) -> dict[str, Any]:
    """Return what `report_steps` takes for one move; moves of one run are put together by `relaying`."""
    return {
        "id": job_id,
        "fence": fence,
        "steps": [step],
        "states": [str(state)],
        "settles": [state in STEP_FINAL],
        "events": [str(_STEP_EVENTS[state])],
    }


def work(run: Run) -> Exit:
    """Run the job's handler in its tenant and record how the attempt ended."""
    structlog.contextvars.clear_contextvars()
    structlog.contextvars.bind_contextvars(job=run.job.pk, fence=run.fence, kind=run.job.kind)
    kind = kinds.get(run.job.kind)
    with scope.open(run.job.tenant):
        try:
            kind.run(run)
            end: Callable[[], None] = _succeed(run)
        except Refusal as refusal:
            end = _refuse(run, refusal)
        except Cancelled:
            end = _cancel(run)
        except StaleFence:
            log.warning("job.run-discarded")
            return Exit.UNRECORDED
        except Stopping:
            end = _hand_over(run)
        except BaseException as error:
            end = _try_again(run, kind, error)
        return _record(run, end)


def _record(run: Run, end: Callable[[], None]) -> Exit:
    """Write the end of the attempt, through an outage of the database as long as the lease may last."""
    until = time.monotonic() + run.job.lease.total_seconds()
    pause = 0.1
    while True:
        try:
            if connection.in_atomic_block:
                connections["default"].close()  # a handler left a transaction open: it is not carried on
            end()
        except SettlementRefused:
            return Exit.RECORDED if _was_ours(run) else Exit.UNRECORDED
        except (OperationalError, InterfaceError):
            connections["default"].close()
            if time.monotonic() > until:
                log.warning("job.end-unrecorded")
                return Exit.UNRECORDED
            time.sleep(pause)
            pause = min(2 * pause, 2.0)
        else:
            return Exit.RECORDED


def _was_ours(run: Run) -> bool:
    """Say whether an end that seemed refused had been written by us, its answer lost on the way."""
    return Job.objects.filter(pk=run.job.pk, fence=run.fence).exclude(state=JobState.RUNNING).exists()


def _succeed(run: Run) -> Callable[[], None]:
    def end() -> None:
        settling.settle(
            job_id=run.job.pk, fence=run.fence, state=JobState.SUCCEEDED, ground=Ground.LIVE, execute=run.execute
        )

    return end


def _refuse(run: Run, refusal: Refusal) -> Callable[[], None]:
    reason, code = str(refusal.message), refusal.code
    log.info("job.refused", code=code)

    def end() -> None:
        settling.settle(
            job_id=run.job.pk,
            fence=run.fence,
            state=JobState.FAILED,
            ground=Ground.LIVE,
            reason=reason,
            code=statements.storable(code, longest=60),
            execute=run.execute,
        )

    return end


def _cancel(run: Run) -> Callable[[], None]:
    def end() -> None:
        settling.settle(
            job_id=run.job.pk,
            fence=run.fence,
            state=JobState.CANCELLED,
            ground=Ground.LIVE,
            code="cancelled",
            if_cancelling=True,
            execute=run.execute,
        )

    return end


def _hand_over(run: Run) -> Callable[[], None]:
    def end() -> None:
        continuing.hand_over(
            job_id=run.job.pk,
            fence=run.fence,
            source=run.job.execution,
            successor=continuing.next_handle(job_id=run.job.pk, fence=run.fence),
            ground=Ground.LIVE,
            execute=run.execute,
        )

    return end


def _try_again(run: Run, kind: JobKind, error: BaseException) -> Callable[[], None]:
    ref = settling.reference()
    log.error("job.attempt-failed", attempt=run.job.attempt, reference=ref, traceback=readable_traceback(error))
    where, cause = (error.where, error.__cause__) if isinstance(error, Broken) else ("", error)
    away = isinstance(cause, OperationalError | InterfaceError) and not _database_answers()

    def end() -> None:
        if away and settling.give_back(
            job_id=run.job.pk,
            fence=run.fence,
            event=EventName.INTERRUPTED,
            ground=Ground.LIVE,
            wait=OUTAGE_WAIT,
            charged=False,
            data={"reference": ref},
            execute=run.execute,
        ):
            return
        left = settling.end_attempt(
            job_id=run.job.pk,
            fence=run.fence,
            event=EventName.RETRY,
            ground=Ground.LIVE,
            wait=kind.wait(run.job.attempt),
            reason=f"{where} {settling.unexpected(ref)}".strip(),
            code="unexpected",
            ref=ref,
            execute=run.execute,
        )
        if left is None:
            raise SettlementRefused(f"job {run.job.pk}")

    return end


def _database_answers() -> bool:
    """Tell an outage, which costs time, from a fault, which costs an attempt."""
    connections["default"].close()
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except (OperationalError, InterfaceError):
        connections["default"].close()
        return False
    return True


def readable_traceback(error: BaseException) -> str:
    """Return the traceback for the log: bounded, with NUL and lone surrogates escaped."""
    try:
        whole = "".join(traceback.format_exception(error))
    except Exception:
        whole = "".join(traceback.format_tb(error.__traceback__)) + type(error).__name__
    if len(whole) > LONGEST_TRACEBACK:
        whole = f"{whole[: LONGEST_TRACEBACK // 2]}\n[...]\n{whole[-LONGEST_TRACEBACK // 2 :]}"
    return whole.encode("utf-8", "backslashreplace").decode("utf-8").replace("\x00", "\\x00")
