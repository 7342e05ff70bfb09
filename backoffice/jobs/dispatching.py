"""Carry a queued job's id to a worker: after the commit, at best effort. The record is the truth.

A message holds the job's id and the number of the dispatch, nothing else. One that is lost is sent
again by the reconciler; one that comes twice finds nothing to claim.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from datetime import timedelta
from functools import cache
from typing import NamedTuple

import redis
import structlog
from django.conf import settings
from django.db import DatabaseError, connection
from redis.backoff import NoBackoff
from redis.retry import Retry
from rq import Queue
from rq.job import Job as Message
from rq.serializers import JSONSerializer

from backoffice.jobs import statements
from backoffice.jobs.errors import StartRefused

log = structlog.get_logger(__name__)

FUNCTION = "backoffice.jobs.dispatching.delivered"
DESCRIPTION = "a job"
UNCLAIMED = timedelta(seconds=20)  # when to ask what became of a message
UNSENT = timedelta(seconds=1)
KEPT = 24 * 3600  # seconds after which the broker forgets a message that nobody took
_PAUSE = 1.0  # seconds in which a broker that did not answer is left alone

_silent_until = 0.0


class Dispatch(NamedTuple):
    """One message: its job, its number and its queue."""

    job_id: int
    number: int
    queue: str

    @property
    def message_id(self) -> str:
        return f"{self.job_id}-{self.number}"


def delivered(job_id: int, dispatch_no: int) -> None:
    """Do nothing: a worker that is not ours took the message. The reconciler sends another."""
    log.warning("job.foreign-worker", job=job_id, dispatch_no=dispatch_no)


@cache
def broker() -> redis.Redis:
    """Return this process's connection to the broker. It fails fast: the reconciler is the one that waits."""
    return redis.Redis.from_url(
        settings.REDIS_URL,
        socket_connect_timeout=1,
        socket_timeout=5,
        retry=Retry(NoBackoff(), 0),
    )


@cache
def queue(name: str) -> Queue:
    """Return the broker's queue of this name."""
    return Queue(name, connection=broker(), serializer=JSONSerializer)


def start(*, job_ids: Sequence[int]) -> int:
    """Send these jobs, as far as they wait, to their queues now; return how many went.

    Raises StartRefused inside a transaction (what is not committed cannot be started) and the
    broker's or the database's errors.
    """
    if connection.in_atomic_block:
        raise StartRefused("a job starts after the commit of the transaction that submits it")
    rows = statements.on_django("mark_dispatched", {"ids": list(job_ids), "again": UNCLAIMED})
    dispatches = [Dispatch(*row) for row in rows]
    try:
        push(dispatches)
    except redis.RedisError:
        values = {"ids": [d.job_id for d in dispatches], "numbers": [d.number for d in dispatches], "again": UNSENT}
        statements.on_django("unmark_dispatched", values)
        raise
    return len(dispatches)


def start_or_leave(*, job_ids: Sequence[int]) -> None:
    """Start these jobs if that can be done now; else leave them queued for the reconciler. Never raises."""
    global _silent_until
    if time.monotonic() < _silent_until:
        return
    try:
        start(job_ids=job_ids)
    except (redis.RedisError, DatabaseError, StartRefused) as error:
        _silent_until = time.monotonic() + _PAUSE
        log.warning("job.left-to-the-reconciler", jobs=list(job_ids)[:20], error=type(error).__name__)


def push(dispatches: Iterable[Dispatch]) -> None:
    """Send the messages in one round trip."""
    with broker().pipeline(transaction=False) as pipe:
        for one in dispatches:
            message = Message.create(
                FUNCTION,
                kwargs={"job_id": one.job_id, "dispatch_no": one.number},
                id=one.message_id,
                connection=broker(),
                serializer=JSONSerializer,
                description=DESCRIPTION,
                timeout=-1,  # the record's deadline bounds the run, from outside
                result_ttl=0,
                failure_ttl=0,
                ttl=KEPT,
            )
            queue(one.queue).enqueue_job(message, pipeline=pipe)
        pipe.execute()


def head(name: str) -> tuple[int, int] | None:
    """Return (job id, dispatch number) of the message that the queue gives out next."""
    first = broker().lindex(queue(name).key, 0)
    if not isinstance(first, bytes):
        return None
    job_id, _, number = first.decode("ascii", "replace").partition("-")
    return (int(job_id), int(number)) if job_id.isdigit() and number.isdigit() else None
