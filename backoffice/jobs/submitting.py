"""Submit a job: its row, its queued steps and its submitted event, in the caller's transaction if there is one."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.db import OperationalError, connection, transaction
from psycopg.rows import dict_row

from backoffice import sql
from backoffice.errors import SubmissionConflict
from backoffice.jobs import dispatching, statements
from backoffice.jobs.base import kinds
from backoffice.jobs.models import Job
from backoffice.tenants import scope
from backoffice.tenants.models import User

GRACE = timedelta(seconds=2)  # in which the submitting process dispatches by itself
SERIALIZATION_FAILURE = "40001"
_IDENTIFIER = re.compile(r"[\w.:@/+\-]{0,200}")
_FOUND_AFTER = 5
_FIELDS = [field.attname for field in Job._meta.concrete_fields]
_COLUMNS = [str(field.column) for field in Job._meta.concrete_fields]


def submit(
    *,
    kind: str,
    key: str,
    arguments: Mapping[str, int | str] | None = None,
    requested_by: User | None = None,
    occurrence: int | None = None,
    replay_of: int | None = None,
) -> Job:
    """Return the open tenant's job of this kind and key, made if there is none, and start it after the commit.

    `arguments` are identifiers only; content and secrets stay in the rows they name. Inside a
    transaction a racing submission raises SubmissionConflict, whose transaction is lost as a whole:
    the caller repeats it. Outside one, the race's winner is returned.
    """
    values = _values(kind, key, dict(arguments or {}), requested_by, occurrence, replay_of)
    for _attempt in range(_FOUND_AFTER):
        found = _insert_or_find(values)
        if found is not None:
            break
        if connection.in_atomic_block:
            _abort()
            raise SubmissionConflict(f"{kind} {key}: a racing submission was first")
    else:
        raise SubmissionConflict(f"{kind} {key}: this job comes and goes")
    job, was_made = found
    if was_made:
        _start_after_commit(job)
    return job


def _start_after_commit(job: Job) -> None:
    first = dispatching.Dispatch(job.pk, job.dispatch_no, job.queue)

    def start() -> None:
        dispatching.send_or_leave(first)

    transaction.on_commit(start, robust=True)


def _insert_or_find(values: dict[str, Any]) -> tuple[Job, bool] | None:
    """Return the job and whether it was made; None when a race was lost, under any isolation level."""
    try:
        rows = sql.prepared(statements.text("submit"), values, rows=dict_row)
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", None) != SERIALIZATION_FAILURE:
            raise
        return None
    if not rows:
        return None
    found = rows[0]
    found["arguments"] = json.loads(found["arguments"])  # Django's connections leave jsonb to its fields
    return Job.from_db("default", _FIELDS, [found[name] for name in _COLUMNS]), found["was_made"]


def _abort() -> None:
    """Make sure that no savepoint saves the caller's transaction: what it decided rests on a lost race.

    Rolling back to a savepoint would let a caller go on without the job, so then the connection goes.
    """
    if connection.savepoint_ids:
        connection.close()
    else:
        transaction.set_rollback(True)


def _values(
    kind: str,
    key: str,
    arguments: dict[str, int | str],
    requested_by: User | None,
    occurrence: int | None,
    replay_of: int | None,
) -> dict[str, Any]:
    declared = kinds.get(kind)
    if not key or len(key) > 200 or "\x00" in key:
        raise ValueError("a submission key has 1 to 200 characters")
    for name, value in arguments.items():
        if isinstance(value, bool) or not isinstance(value, int | str) or not _IDENTIFIER.fullmatch(str(value)):
            raise ValueError(f"argument {name!r} is no identifier: content stays in the rows that the job names")
    failure = declared.failure
    return {
        "tenant": scope.current().pk,
        "kind": kind,
        "key": key,
        "queue": declared.queue,
        "arguments": json.dumps(arguments),
        "requested_by": requested_by.pk if requested_by is not None else None,
        "occurrence": occurrence,
        "replay_of": replay_of,
        "max_attempts": declared.max_attempts,
        "lease": declared.lease,
        "max_duration": declared.max_duration,
        "grace": GRACE,
        "names": [step.name for step in declared.steps],
        "weights": [step.weight for step in declared.steps],
        "catalog": json.dumps(
            {
                "title": str(declared.title),
                "steps": declared.catalog(),
                "changes": str(declared.changes),
                "failure": str(getattr(failure, "words", "")),
                "no_consequence": str(getattr(failure, "reason", "")),
            }
        ),
    }
