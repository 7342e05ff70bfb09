"""The worker: takes one queue's messages from RQ, claims each job in the record, and runs it in a fork.

The parent runs no job and holds no Django connection: it keeps the lease (`keeping`, `watching`) and
outlives what its work-horse does. RQ pops messages; its results, registries, retries and timeouts
are not used, because the record has them.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import time
from types import FrameType

import psycopg
import redis
import structlog
from django.db import connections
from rq import Queue, Worker
from rq.exceptions import DequeueTimeout
from rq.job import Job as Message
from rq.serializers import JSONSerializer

from backoffice.jobs import dispatching, keeping, orphans, packing
from backoffice.jobs.base import kinds
from backoffice.jobs.keeping import Held, Keeper
from backoffice.jobs.standing_by import Standby
from backoffice.jobs.surviving import Survivor
from backoffice.jobs.watching import Watch

log = structlog.get_logger(__name__)

IDLE = 1  # seconds of one wait for a message; a stop is heeded within it
HEARTBEAT_EVERY = 30.0
STOP_WITHIN = 7.0  # seconds that a running job has to come to the end of its step
STUCK = 60.0  # seconds after which a message popped by a worker that died is thrown away
LONGEST_PAUSE = 15.0
AHEAD = 4  # work-horses forked at once while more messages wait: after each fork the parent pays for every page anew


class JobWorker(Worker):
    """Work on one queue. `run_forever` replaces RQ's loop; popping and heartbeats are RQ's own."""

    def __init__(self, queue: str, *, stop_within: float = STOP_WITHIN) -> None:
        self.owner = f"{socket.gethostname()}.{os.getpid()}"
        super().__init__(
            [dispatching.queue(queue)],
            name=f"{queue}.{self.owner}.{random.randrange(16**4):04x}",  # noqa: S311  (a name, no secret)
            connection=dispatching.broker(),
            serializer=JSONSerializer,
            prepare_for_work=False,
        )
        self.hostname, self.pid, self.ip_address = socket.gethostname(), os.getpid(), ""
        self.keeper = Keeper(self.owner)
        self._stop_within = stop_within
        self._stop_by: float | None = None
        self._beat_at = 0.0
        self._stuck: dict[str, float] = {}
        self._taken = ""  # the message last taken; it leaves the broker along with the next look for one
        self._more = 0  # how many waited behind it
        self._standbys: list[Standby] = []
        self._survivor: Survivor | None = None
        self._wakeup, self._woken = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def run_forever(self, *, burst: bool = False) -> None:
        """Work until SIGTERM or SIGINT; with `burst`, until the queue is empty. Outages are waited out."""
        self._install_signal_handlers()
        connections.close_all()
        self._survivor = Survivor()
        orphans.adopt()
        packing.pack()
        pause = 0.0
        log.info("worker.started", queue=self.queues[0].name, owner=self.owner)
        while self._stop_by is None:
            try:
                self._beat()
                self._stand_by(1)
                popped = self._pop(burst=burst)
            except redis.RedisError as error:
                pause = min(max(2 * pause, 0.5), LONGEST_PAUSE)
                log.warning("worker.broker-away", error=type(error).__name__, wait=pause)
                self._sleep(pause)
                continue
            pause = 0.0
            if popped is not None:
                self._take(popped)
            elif burst:
                break
        self._leave()

    def execute_job(self, job: Message, queue: Queue) -> None:
        """Take a message as RQ hands it out."""
        self._take(job.id)

    def _take(self, message_id: str) -> None:
        job_id = dispatching.job_of(message_id)
        held = self._claim(job_id) if job_id is not None else None
        if held is not None:
            self._taken = message_id
            self._run(held)
        elif self._stop_by is not None:
            self._put_back(message_id)
        else:
            self._taken = message_id
            log.info("job.nothing-to-claim", message=message_id)

    def _run(self, held: Held) -> None:
        horse = self._begin(held)
        self._horse_pid = horse.pid
        self._stand_by(min(self._more, AHEAD), beside=horse)
        Watch(
            held=held,
            keeper=self.keeper,
            relay=horse.relay,
            pid=horse.pid,
            wakeup=self._wakeup,
            stop_by=lambda: self._stop_by,
            spared=self._spared,
        ).keep()
        if self._survivor is not None:
            self._survivor.run_in(0)
        horse.relay.close()
        self._horse_pid = 0

    def _begin(self, held: Held) -> Standby:
        while True:
            self._stand_by(1)
            horse = self._standbys.pop(0)
            if self._survivor is not None:
                self._survivor.run_in(horse.pid)
            if horse.begin(held):
                return horse

    def _spared(self) -> set[int]:
        """Return the processes that no run started."""
        ours = {one.pid for one in self._standbys}
        return ours | {self._survivor.pid} if self._survivor is not None else ours

    def _stand_by(self, count: int, *, beside: Standby | None = None) -> None:
        """Where no work-horse stands by, fork some. They share no connection of ours, nor of each other's."""
        if self._standbys:
            return
        shared = [self.keeper.descriptor(), self._wakeup, self._woken]
        if beside is not None:
            shared.append(beside.relay.parent.fileno())
        for _number in range(count):
            ours = [one.relay.parent.fileno() for one in self._standbys]
            self._standbys.append(Standby(shared=[fd for fd in (*shared, *ours) if fd is not None]))

    def _pop(self, *, burst: bool) -> str | None:
        """Move the next message's id to the queue's list of taken ones; the id says which job it is."""
        queue = self.queues[0]
        with self.connection.pipeline(transaction=False) as pipe:
            self._forget(self._taken, pipe)
            pipe.lmove(queue.key, queue.intermediate_queue_key)
            pipe.llen(queue.key)
            popped, more = pipe.execute()[-2:]
        self._taken, self._more = "", int(more)
        if popped is None and not burst:
            try:
                _queue, popped = Queue.lmove(self.connection, queue.key, IDLE)
            except DequeueTimeout:
                return None
        return str(popped.decode("ascii", "replace")) if popped else None

    def _claim(self, job_id: int) -> Held | None:
        """Claim through an outage of the database: the message is in our hands, so we wait with it."""
        pause = 0.2
        while self._stop_by is None:
            try:
                return self.keeper.claim(job_id=job_id, kinds=[kind.name for kind in kinds])
            except psycopg.OperationalError as error:
                log.warning("worker.database-away", error=type(error).__name__, wait=pause)
                self.keeper.close()
                self._sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
        return None

    def _forget(self, message_id: str, pipe: redis.client.Pipeline) -> None:
        """Take a message out of the broker for good; what is left of it by an outage expires by itself."""
        if message_id:
            pipe.lrem(self.queues[0].intermediate_queue_key, 0, message_id)
            pipe.delete(Message.key_for(message_id))

    def _put_back(self, message_id: str) -> None:
        """Leave a message that was not looked at to another worker."""
        queue = self.queues[0]
        with contextlib.suppress(redis.RedisError), self.connection.pipeline() as pipe:
            pipe.lrem(queue.intermediate_queue_key, 1, message_id)
            pipe.lpush(queue.key, message_id)
            pipe.execute()

    def _beat(self) -> None:
        """Show that this worker lives, and throw away messages whose worker died between pop and claim."""
        now = time.monotonic()
        if now < self._beat_at:
            return
        self._beat_at = now + HEARTBEAT_EVERY
        if self.birth_date is None or not self.connection.exists(self.key):
            self.register_birth()
        self.heartbeat()
        left = self.queues[0].intermediate_queue.get_job_ids()
        self._stuck = {one: self._stuck.get(one, now) for one in left}
        with self.connection.pipeline(transaction=False) as pipe:
            for one, since in self._stuck.items():
                if now - since > STUCK:
                    self._forget(one, pipe)
            pipe.execute()

    def _install_signal_handlers(self) -> None:
        signal.set_wakeup_fd(self._woken, warn_on_full_buffer=False)
        signal.signal(signal.SIGTERM, self._note_stop)
        signal.signal(signal.SIGINT, self._note_stop)

    def _note_stop(self, signum: int, frame: FrameType | None) -> None:
        if self._stop_by is None:
            self._stop_by = keeping.monotonic() + self._stop_within

    def _sleep(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while self._stop_by is None and time.monotonic() < until:
            time.sleep(min(0.2, max(0.0, until - time.monotonic())))

    def _leave(self) -> None:
        log.info("worker.stopped", queue=self.queues[0].name, owner=self.owner)
        for one in self._standbys:
            one.dismiss()
        with contextlib.suppress(redis.RedisError), self.connection.pipeline(transaction=False) as pipe:
            self._forget(self._taken, pipe)
            pipe.execute()
            self.register_death()
        self.keeper.close()
