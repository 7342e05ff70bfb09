"""The scheduler's loop: call each periodic function when it is due, through every outage."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FrameType

import structlog
from django.db import DatabaseError, InterfaceError, connections

from backoffice.jobs.running import readable_traceback

log = structlog.get_logger(__name__)

LONGEST_PAUSE = 30.0
SAY_EVERY = 30.0


@dataclass
class Periodic:
    """A function to call every so many seconds. It runs its own short transactions and returns how much it did."""

    name: str
    every: float
    call: Callable[[], int]
    due: float = 0.0
    failures: int = 0
    said_at: float = float("-inf")


class Loop:
    """Call periodic functions until asked to stop. One that fails waits longer each time; no failure ends the loop."""

    def __init__(self, periodics: Sequence[Periodic], *, clock: Callable[[], float]) -> None:
        self.periodics = list(periodics)
        self.clock = clock
        self.stopping = threading.Event()

    def run(self) -> None:
        """Run until SIGTERM or SIGINT."""
        for one in (signal.SIGTERM, signal.SIGINT):
            signal.signal(one, self._note_stop)
        log.info("scheduler.started", periodics=[one.name for one in self.periodics])
        while not self.stopping.is_set():
            self.turn()
            self.stopping.wait(max(0.05, min((p.due for p in self.periodics), default=1.0) - self.clock()))
        log.info("scheduler.stopped")

    def turn(self) -> None:
        """Call what is due."""
        for one in self.periodics:
            if self.clock() >= one.due and not self.stopping.is_set():
                self._call(one)

    def _call(self, one: Periodic) -> None:
        try:
            one.call()
        except Exception as error:
            one.failures += 1
            pause = min(one.every * 2 ** min(one.failures, 10), LONGEST_PAUSE)
            one.due = self.clock() + pause
            self._say(one, error, pause)
            if isinstance(error, DatabaseError | InterfaceError):
                connections.close_all()
        else:
            if one.failures:
                log.info("scheduler.recovered", periodic=one.name, failures=one.failures)
            one.failures, one.said_at = 0, float("-inf")
            one.due = self.clock() + one.every

    def _say(self, one: Periodic, error: Exception, pause: float) -> None:
        if self.clock() - one.said_at < SAY_EVERY:
            return
        one.said_at = self.clock()
        log.warning(
            "scheduler.failing",
            periodic=one.name,
            failures=one.failures,
            wait=pause,
            error=type(error).__name__,
            traceback=readable_traceback(error),
        )

    def _note_stop(self, signum: int, frame: FrameType | None) -> None:
        self.stopping.set()


periodics: list[Periodic] = []


def periodic(*, name: str, every: float) -> Callable[[Callable[[], int]], Callable[[], int]]:
    """Add the decorated function to what every scheduler process calls (from an app's `ready`)."""

    def add(call: Callable[[], int]) -> Callable[[], int]:
        periodics.append(Periodic(name, every, call))
        return call

    return add
