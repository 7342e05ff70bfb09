"""The faults, and a random plan of them that a seed repeats."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import redis
from django.db import DatabaseError, InterfaceError, connections

from backoffice.jobs import dispatching
from backoffice.jobs.models import Job
from backoffice.tenants import scope
from tests.faults.load import Load
from tests.faults.world import World

WORKERS = ("worker-1", "worker-2", "worker-3")
SCHEDULERS = ("scheduler-1", "scheduler-2")
STOPPED = 4.5  # seconds; the probes' lease is three
WEIGHTS = {
    "kill-parent": 6,
    "kill-horse": 8,
    "kill-scheduler": 3,
    "stop-past-the-lease": 5,
    "stop-horse-past-the-lease": 3,
    "terminate-parent": 4,
    "terminate-tree": 3,
    "valkey-empty": 2,
    "postgres-at-once": 2,
    "crash-before-dispatch": 5,
    "crash-before-claim": 5,
    "hundred-deliveries": 4,
    "kill-web": 1,
}


@dataclass(frozen=True)
class Planned:
    """A fault and when it is due, in seconds from the beginning."""

    at: float
    fault: str


def plan(*, seed: int, seconds: float, every: float = 1.6) -> list[Planned]:
    """Draw the faults: each at least once where the time allows it, the rest by weight."""
    chance = random.Random(seed)
    count = int(seconds / every)
    drawn = list(WEIGHTS)
    chance.shuffle(drawn)
    drawn += chance.choices(list(WEIGHTS), list(WEIGHTS.values()), k=max(0, count - len(drawn)))
    drawn = drawn[:count]
    chance.shuffle(drawn)
    return [Planned(every * (turn + chance.random()), fault) for turn, fault in enumerate(drawn)]


@dataclass
class Injector:
    """Injects what is due and takes back what was for a while. `counts` holds what really hit something."""

    world: World
    load: Load
    chance: random.Random
    counts: dict[str, int] = field(default_factory=dict)
    postgres_restarts: int = 0
    _later: list[tuple[float, Callable[[], None]]] = field(default_factory=list)
    _kept: list[object] = field(default_factory=list)

    def inject(self, fault: str) -> None:
        """Inject the fault; in an outage that another one made it may hit nothing."""
        with contextlib.suppress(DatabaseError, InterfaceError, redis.RedisError, ProcessLookupError):
            if getattr(self, f"_{fault.replace('-', '_')}")():
                self.counts[fault] = self.counts.get(fault, 0) + 1
            return
        connections.close_all()

    def take_back(self, *, all_of_it: bool = False) -> None:
        """Continue the processes that were stopped long enough."""
        now = time.monotonic()
        due = [one for one in self._later if all_of_it or one[0] <= now]
        self._later = [one for one in self._later if one not in due]
        for _at, undo in due:
            with contextlib.suppress(ProcessLookupError):
                undo()

    def _busy(self) -> tuple[str, int] | None:
        """Find a worker with a work-horse, waiting a moment for one."""
        until = time.monotonic() + 3.0
        while time.monotonic() < until:
            for name in self.chance.sample(WORKERS, len(WORKERS)):
                horse = self.world.horse(name)
                if horse is not None:
                    return name, horse
            time.sleep(0.01)
        return None

    def _kill_parent(self) -> bool:
        busy = self._busy()
        self.world.send(busy[0] if busy else self.chance.choice(WORKERS), signal.SIGKILL)
        return True

    def _kill_horse(self) -> bool:
        busy = self._busy()
        if busy:
            os.kill(busy[1], signal.SIGKILL)
        return busy is not None

    def _kill_scheduler(self) -> bool:
        for name in self.chance.sample(SCHEDULERS, self.chance.choice((1, 2))):
            self.world.send(name, signal.SIGKILL)
        return True

    def _stop(self, pids: list[int]) -> None:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        for pid in self.chance.sample(pids, len(pids)):
            self._later.append((time.monotonic() + STOPPED, lambda pid=pid: os.kill(pid, signal.SIGCONT)))

    def _stop_past_the_lease(self) -> bool:
        busy = self._busy()
        if busy:
            self._stop([self.world.crew[busy[0]].pid, *self.chance.choice(([busy[1]], []))])
        return busy is not None

    def _stop_horse_past_the_lease(self) -> bool:
        busy = self._busy()
        if busy:
            self._stop([busy[1]])
        return busy is not None

    def _terminate_parent(self) -> bool:
        self.world.send(self.chance.choice(WORKERS), signal.SIGTERM)
        return True

    def _terminate_tree(self) -> bool:
        name, horse = self._busy() or (self.chance.choice(WORKERS), None)
        if horse is not None:
            os.kill(horse, signal.SIGTERM)
        os.killpg(self.world.crew[name].pid, signal.SIGTERM)
        return True

    def _valkey_empty(self) -> bool:
        self.world.restart_valkey_empty()
        return True

    def _postgres_at_once(self) -> bool:
        self._busy()  # in the middle of something
        self.world.restart_postgres()
        self.postgres_restarts += 1
        return True

    def _crash_before_dispatch(self) -> bool:
        """Submit in a process that dies between its commit and its first message."""
        wanted = self.load.want()
        pid = os.fork()
        if pid == 0:
            self._kept += [one.connection for one in connections.all()]  # the parent's: not even closed here
            for one in connections.all():
                one.connection = None
            dispatching.push = lambda dispatches: os._exit(9)
            with contextlib.suppress(BaseException):
                self.load.submit(wanted)
            os._exit(1)
        _pid, status = os.waitpid(pid, 0)
        return os.waitstatus_to_exitcode(status) == 9

    def _crash_before_claim(self) -> bool:
        """Pop a message as a worker does, and never claim its job."""
        queue = dispatching.queue(self.chance.choice(("interactive", "bulk")))
        return dispatching.broker().lmove(queue.key, queue.intermediate_queue_key, "LEFT", "RIGHT") is not None

    def _hundred_deliveries(self) -> bool:
        with scope.open(self.load.tenant):
            job = Job.objects.filter(settled_at=None).order_by("?").first()
        if job is not None:
            dispatching.push([dispatching.Dispatch(job.pk, max(1, job.dispatch_no), job.queue)] * 100)
        return job is not None

    def _kill_web(self) -> bool:
        os.killpg(self.world.crew["web"].pid, signal.SIGKILL)
        return True
