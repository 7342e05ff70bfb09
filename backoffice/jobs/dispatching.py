"""Carry a queued job's id to a worker: after the commit, at best effort. The record is the truth.

A message holds the job's id and the number of the dispatch, nothing else. One that is lost is sent
again by the reconciler; one that comes twice finds nothing to claim.
"""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, NamedTuple

import redis
import structlog
from django.conf import settings
from django.db import DatabaseError, connection
from redis.backoff import NoBackoff
from redis.retry import Retry
from rq import Queue
from rq.job import Job as Message
from rq.job import JobStatus
from rq.serializers import JSONSerializer

from backoffice.jobs import statements
from backoffice.jobs.errors import StartRefused

log = structlog.get_logger(__name__)

_MESSAGE_ID = re.compile(r"([0-9]{1,18})-([0-9]{1,9})")
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
        unmark(dispatches)
        raise
    return len(dispatches)


def send_or_leave(first: Dispatch) -> None:
    """Send a new job's first message if that can be done now; else leave the job to the reconciler. Never raises."""
    global _silent_until
    try:
        if connection.in_atomic_block:
            raise StartRefused("a job starts after the commit of the transaction that submits it")
        if time.monotonic() < _silent_until:
            raise redis.ConnectionError("the broker did not answer a moment ago")
        push([first])
    except (redis.RedisError, StartRefused) as error:
        if not isinstance(error, StartRefused) and time.monotonic() >= _silent_until:
            _silent_until = time.monotonic() + _PAUSE
        log.warning("job.left-to-the-reconciler", job=first.job_id, error=type(error).__name__)
        with contextlib.suppress(DatabaseError):  # the reconciler finds out by itself, a little later
            unmark([first])


def unmark(dispatches: Sequence[Dispatch]) -> None:
    """Record that these messages were not sent."""
    values = {"ids": [d.job_id for d in dispatches], "numbers": [d.number for d in dispatches], "again": UNSENT}
    statements.on_django("unmark_dispatched", values)


def push(dispatches: Iterable[Dispatch]) -> None:
    """Send the messages in one round trip."""
    with broker().pipeline(transaction=False) as pipe:
        for one in dispatches:
            to = queue(one.queue)
            key = Message.key_for(one.message_id)
            pipe.sadd(Queue.redis_queues_keys, to.key)
            pipe.hset(key, mapping=_message(one))
            pipe.expire(key, KEPT)
            pipe.rpush(to.key, one.message_id)
        pipe.execute()


def _message(one: Dispatch) -> dict[Any, str | int]:
    """Write what RQ reads of a job, and no more: its own way of writing one costs more than the submission."""
    now = datetime.now(tz=UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return {
        "created_at": now,
        "enqueued_at": now,
        "data": json.dumps([FUNCTION, None, [], {"job_id": one.job_id, "dispatch_no": one.number}]),
        "description": DESCRIPTION,
        "origin": one.queue,
        "status": JobStatus.QUEUED.value,
        "timeout": -1,  # the record's deadline bounds the run, from outside
        "result_ttl": 0,
        "failure_ttl": 0,
    }


def head(name: str) -> tuple[int, int] | None:
    """Return (job id, dispatch number) of the message that the queue gives out next."""
    first = broker().lindex(queue(name).key, 0)
    return _parts(first.decode("ascii", "replace")) if isinstance(first, bytes) else None


def job_of(message_id: str) -> int | None:
    """Return the job that a message of this id carries; None for one that is none of ours."""
    parts = _parts(message_id)
    return parts[0] if parts else None


def _parts(message_id: str) -> tuple[int, int] | None:
    found = _MESSAGE_ID.fullmatch(message_id)
    return (int(found[1]), int(found[2])) if found else None
