"""The worker: takes one queue's messages from RQ, claims each job in the record, and runs it in a fork.

The parent runs no job and holds no Django connection: it keeps the lease (`keeping`, `watching`) and
outlives what its work-horse does. RQ pops messages; its results, registries, retries and timeouts
are not used, because the record has them.
"""

from __future__ import annotations

import contextlib
import gc
import os
import random
import signal
import socket
import time
from collections.abc import Callable
from types import FrameType

import psycopg
import redis
import structlog
from django.db import connections
from rq import Queue, Worker
from rq.exceptions import DequeueTimeout
from rq.job import Job as Message
from rq.serializers import JSONSerializer

from backoffice.jobs import dispatching, horse, keeping
from backoffice.jobs.base import kinds
from backoffice.jobs.keeping import Held, Keeper
from backoffice.jobs.relaying import Relay
from backoffice.jobs.watching import Watch

log = structlog.get_logger(__name__)

IDLE = 1  # seconds of one wait for a message; a stop is heeded within it
HEARTBEAT_EVERY = 30.0
STOP_WITHIN = 7.0  # seconds that a running job has to come to the end of its step
STUCK = 60.0  # seconds after which a message popped by a worker that died is thrown away
LONGEST_PAUSE = 15.0


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
        self._wakeup, self._woken = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def run_forever(self, *, burst: bool = False) -> None:
        """Work until SIGTERM or SIGINT; with `burst`, until the queue is empty. Outages are waited out."""
        self._install_signal_handlers()
        connections.close_all()
        gc.collect()
        gc.freeze()  # what is here now is shared with every work-horse instead of copied into it
        pause = 0.0
        log.info("worker.started", queue=self.queues[0].name, owner=self.owner)
        while self._stop_by is None:
            try:
                self._beat()
                popped = self._pop(burst=burst)
            except redis.RedisError as error:
                pause = min(max(2 * pause, 0.5), LONGEST_PAUSE)
                log.warning("worker.broker-away", error=type(error).__name__, wait=pause)
                self._sleep(pause)
                continue
            pause = 0.0
            if popped is not None:
                self._take(popped, self.queues[0])
            elif burst:
                break
        self._leave()

    def execute_job(self, job: Message, queue: Queue) -> None:
        """Take a message as RQ hands it out."""
        self._take(job.id, queue)

    def _take(self, message_id: str, queue: Queue) -> None:
        job_id = dispatching.job_of(message_id)
        held = self._claim(job_id) if job_id is not None else None
        if held is not None:
            self._run(held, began=lambda: self._drop(message_id, queue))
        elif self._stop_by is not None:
            self._put_back(message_id, queue)
        else:
            self._drop(message_id, queue)
            log.info("job.nothing-to-claim", message=message_id)

    def _run(self, held: Held, *, began: Callable[[], None]) -> None:
        parent = os.getpid()
        shared = [fd for fd in (self.keeper.descriptor(), self._wakeup, self._woken) if fd is not None]
        relay = Relay()
        pid = os.fork()
        if pid == 0:
            horse.run(held, parent=parent, shared=shared, relay=relay)
        relay.for_parent()
        began()
        self._horse_pid = pid
        Watch(
            held=held,
            keeper=self.keeper,
            relay=relay,
            pid=pid,
            wakeup=self._wakeup,
            stop_by=lambda: self._stop_by,
        ).keep()
        relay.close()
        self._horse_pid = 0

    def _pop(self, *, burst: bool) -> str | None:
        """Move the next message's id to the queue's list of taken ones; the id says which job it is."""
        try:
            popped = Queue.lmove(self.connection, self.queues[0].key, None if burst else IDLE)
        except DequeueTimeout:
            return None
        return str(popped[1].decode("ascii", "replace")) if popped else None

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

    def _drop(self, message_id: str, queue: Queue) -> None:
        """Take a message out of the broker for good; what is left of it by an outage expires by itself."""
        with contextlib.suppress(redis.RedisError), self.connection.pipeline(transaction=False) as pipe:
            pipe.lrem(queue.intermediate_queue_key, 0, message_id)
            pipe.delete(Message.key_for(message_id))
            pipe.execute()

    def _put_back(self, message_id: str, queue: Queue) -> None:
        """Leave a message that was not looked at to another worker."""
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
        for one, since in list(self._stuck.items()):
            if now - since > STUCK:
                self._drop(one, self.queues[0])

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
        with contextlib.suppress(redis.RedisError):
            self.register_death()
        self.keeper.close()
