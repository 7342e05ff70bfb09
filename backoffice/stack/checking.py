"""Prove that what was started works: an object comes back from the storage, and a worker runs a job."""

from __future__ import annotations

import os
import secrets
import time

from backoffice.stack.crew import Crew
from backoffice.stack.problems import StackProblem

JOB_WITHIN = 90.0  # a worker on a busy machine has its code to load first


def check(crew: Crew) -> dict[str, float]:
    """Return the seconds each proof took; raise StackProblem when one fails.

    The sign-in page was fetched before: the command is ready when it is served.
    """
    # What the libraries say of their own start is no part of the answer.
    os.environ.setdefault("LOG_LEVEL", "WARNING")
    import django

    django.setup()
    from django.db import connections

    from backoffice.tenants import scope
    from backoffice.tenants.models import PLATFORM_ID, Tenant

    try:
        with scope.open(Tenant.objects.get(pk=PLATFORM_ID)):
            return {"object_s": _object(), "job_s": _job(crew)}
    finally:
        connections.close_all()


def _object() -> float:
    from backoffice import storage

    began = time.monotonic()
    key = storage.object_key(area="check", request_id=secrets.randbelow(2**31), fence=0)
    written = secrets.token_bytes(1000)
    storage.put(key=key, data=written)
    try:
        if storage.get(key=key) != written:
            raise StackProblem("The object storage gave back something else than was stored.")
    finally:
        storage.delete(key=key)
    return round(time.monotonic() - began, 2)


def _job(crew: Crew) -> float:
    from backoffice import jobs

    began = time.monotonic()
    job = jobs.submit(kind="system.ping", key=f"check-{secrets.token_hex(8)}")
    while job.state != "succeeded":
        if job.settled_at is not None:
            raise StackProblem(f"The job that was tried ended as {job.state}; see the logs in {crew.logs}.")
        if time.monotonic() > began + JOB_WITHIN:
            raise StackProblem(
                f"The job that was tried was not run within {JOB_WITHIN:.0f} seconds (it is {job.state}); "
                f"see the logs in {crew.logs}."
            )
        crew.tend(time.monotonic())
        time.sleep(0.05)
        job.refresh_from_db()
    return round(time.monotonic() - began, 2)
