"""Claim and run a job in the test's own process, as a worker's parent and work-horse would."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from backoffice.jobs import running
from backoffice.jobs.base import kinds
from backoffice.jobs.keeping import Held, Keeper
from backoffice.jobs.models import Job
from backoffice.jobs.running import Exit, Run


@contextmanager
def keeper(owner: str = "a worker") -> Iterator[Keeper]:
    """Open a keeper's connection for the block."""
    one = Keeper(owner)
    try:
        yield one
    finally:
        one.close()


def claim(job: Job, *, owner: str = "a worker") -> Held:
    """Claim the job."""
    with keeper(owner) as one:
        held = one.claim(job_id=job.pk, kinds=[kind.name for kind in kinds])
    assert held is not None
    return held


def run(job: Job) -> Exit:
    """Claim the job and run its handler here."""
    held = claim(job)
    return running.work(Run(job=held.job, steps=held.steps))
