"""The parent's watch over its work-horse: renew, look, stop, kill, and record how a dead run ended.

A kill names (job, fence): the process it ends is the parent's own child, not yet reaped, and what it
then records holds for that fence only.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
from collections.abc import Callable
from datetime import timedelta
from enum import StrEnum

import psycopg
import structlog

from backoffice.jobs import continuing, horse, keeping, orphans, settling
from backoffice.jobs.base import kinds
from backoffice.jobs.errors import ContinuationRefused, SettlementRefused
from backoffice.jobs.keeping import Held, Keeper
from backoffice.jobs.relaying import Relay
from backoffice.jobs.running import Exit
from backoffice.jobs.settling import Ground
from backoffice.jobs.states import EventName, JobState

log = structlog.get_logger(__name__)

LOOK_EVERY = 1.0
TRY_AGAIN = 0.5
RECORD_WITHIN = 5.0


class Verdict(StrEnum):
    """Why a run was ended from outside."""

    NONE = "none"
    LEASE = "lease"
    DEADLINE = "deadline"
    CANCELLED = "cancelled"
    STOPPING = "stopping"


class Watch:
    """Watch over one run until its process has ended."""

    def __init__(
        self,
        *,
        held: Held,
        keeper: Keeper,
        relay: Relay,
        pid: int,
        wakeup: int,
        stop_by: Callable[[], float | None],
        spared: Callable[[], set[int]] = set,
    ) -> None:
        self.held, self.keeper, self.relay, self.pid = held, keeper, relay, pid
        self._wakeup, self._stop_by, self._spared = wakeup, stop_by, spared
        self._process = os.pidfd_open(pid)
        now = held.asked_at
        self._renew_at = now + held.job.lease.total_seconds() / 3
        self._look_at = now + LOOK_EVERY
        self._cancel_by: float | None = None
        self._told = False

    def keep(self) -> None:
        """Stay until the process has ended, by itself or by us, and see to it that its end is recorded."""
        verdict = Verdict.NONE
        waiting = select.poll()
        waiting.register(self._process, select.POLLIN)
        waiting.register(self._wakeup, select.POLLIN)
        waiting.register(self.relay.parent, select.POLLIN)
        try:
            while not self._ended(waiting):
                verdict = self._judge()
                if verdict is not Verdict.NONE:
                    log.warning("job.killing", job=self.held.job.pk, fence=self.held.job.fence, why=str(verdict))
                    break
            status = self._reap()
        finally:
            os.close(self._process)
        if status != Exit.RECORDED:
            self._record(verdict, status)

    def _ended(self, waiting: select.poll) -> bool:
        """Wait for the process's end, a signal of ours or the next thing to do; say whether it has ended."""
        due = [self._renew_at, self._look_at, self.held.deadline, self.held.trusted_until]
        due += [at for at in (self._cancel_by, self._stop_by()) if at is not None]
        ready = [fd for fd, _event in waiting.poll(max(0.0, min(due) - keeping.monotonic()) * 1000 + 1)]
        if self._wakeup in ready:
            os.read(self._wakeup, 4096)
        if self.relay.parent.fileno() in ready:
            self._serve(waiting)  # before the end is looked at: the last report may still lie there
            return False
        return self._process in ready

    def _serve(self, waiting: select.poll) -> None:
        """Run what the horse reports."""
        try:
            if not self.relay.serve(self.keeper.execute_all):
                waiting.unregister(self.relay.parent)
        except psycopg.Error as error:
            self._cut_off(error)

    def _judge(self) -> Verdict:
        now = keeping.monotonic()
        stop_by = self._stop_by()
        if stop_by is not None and not self._told:
            self._told = True
            os.kill(self.pid, horse.STOP)
        if now >= self.held.deadline:
            return Verdict.DEADLINE
        if self._cancel_by is not None and now >= self._cancel_by:
            return Verdict.CANCELLED
        if stop_by is not None and now >= stop_by:
            return Verdict.STOPPING
        try:
            if now >= self._renew_at and not self._renew(now):
                return Verdict.LEASE
            if now >= self._look_at:
                self._look_at = now + LOOK_EVERY
                if self._cancel_by is None and self.keeper.look(self.held):
                    self._note_cancel(now)
        except psycopg.Error as error:
            self._cut_off(error)
        return Verdict.LEASE if keeping.monotonic() >= self.held.trusted_until else Verdict.NONE

    def _cut_off(self, error: psycopg.Error) -> None:
        log.warning("job.keeper-cut-off", job=self.held.job.pk, error=type(error).__name__)
        self.keeper.close()
        self._renew_at = self._look_at = keeping.monotonic() + TRY_AGAIN

    def _renew(self, now: float) -> bool:
        cancelling = self.keeper.renew(self.held)
        self._renew_at = now + self.held.job.lease.total_seconds() / 3
        if cancelling:
            self._note_cancel(now)
        return cancelling is not None

    def _note_cancel(self, now: float) -> None:
        if self._cancel_by is None:
            self._cancel_by = now + kinds.get(self.held.job.kind).cancel_grace.total_seconds()

    def _reap(self) -> int:
        """End the run's whole process group, the process and what it left elsewhere; return its exit status.

        Until it is waited for, its number belongs to nobody else, so the kill cannot hit a stranger.
        """
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)  # where it had not yet made a group of its own
        _pid, status = os.waitpid(self.pid, 0)
        orphans.end(spared=self._spared())
        return os.waitstatus_to_exitcode(status)

    def _record(self, verdict: Verdict, status: int) -> None:
        """Write how the run ended, for a while through an outage; after that the reconciler does."""
        until = keeping.monotonic() + RECORD_WITHIN
        while True:
            try:
                self.keeper.end_queries(self.held)
                self._end(verdict, status)
            except psycopg.Error as error:
                self.keeper.close()
                if keeping.monotonic() >= until:
                    log.warning("job.end-left-to-the-reconciler", job=self.held.job.pk, error=type(error).__name__)
                    return
                select.select([], [], [], TRY_AGAIN)
            else:
                return

    def _end(self, verdict: Verdict, status: int) -> None:
        job, execute = self.held.job, self.keeper.execute
        with contextlib.suppress(SettlementRefused, ContinuationRefused):  # another fence holds it, or it has ended
            if verdict is Verdict.DEADLINE:
                settling.settle(
                    job_id=job.pk,
                    fence=job.fence,
                    state=JobState.FAILED,
                    ground=Ground.KEEPER,
                    reason=settling.overdue(),
                    code="deadline",
                    execute=execute,
                )
            elif verdict is Verdict.STOPPING:
                self._hand_over()
            else:
                self._lost(status)

    def _hand_over(self) -> None:
        job = self.held.job
        given = settling.give_back(
            job_id=job.pk,
            fence=job.fence,
            event=EventName.CONTINUED,
            ground=Ground.KEEPER,
            charged=False,
            successor=continuing.next_handle(job_id=job.pk, fence=job.fence),
            data={
                "source": job.execution,
                "successor": continuing.next_handle(job_id=job.pk, fence=job.fence),
            },
            execute=self.keeper.execute,
        )
        if not given:
            self._lost(0)

    def _lost(self, status: int) -> None:
        job = self.held.job
        ref = settling.reference()
        log.error("job.run-lost", job=job.pk, fence=job.fence, attempt=job.attempt, status=status, reference=ref)
        wait = kinds.get(job.kind).wait(job.attempt) if status != 0 and status != -signal.SIGKILL else timedelta(0)
        settling.end_attempt(
            job_id=job.pk,
            fence=job.fence,
            event=EventName.LOST,
            ground=Ground.KEEPER,
            wait=wait,
            reason=settling.lost(ref),
            code="lost",
            ref=ref,
            execute=self.keeper.execute,
        )
