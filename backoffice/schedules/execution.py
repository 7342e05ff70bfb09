"""Join schedules to the durable jobs: registering a scheduled job registers the kind of job that works it off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from backoffice.jobs import base as job_kinds
from backoffice.jobs.base import JobKind, Step
from backoffice.jobs.models import Job
from backoffice.jobs.running import Run
from backoffice.schedules import base, opening, overview, running
from backoffice.schedules.base import ManualJob, ScheduledJob

T = TypeVar("T", bound=type[ScheduledJob] | type[ManualJob])


def register(cls: T) -> T:
    """Register the definition (a decorator), and its job kind with the same bounds under `schedule:<name>`."""
    base.jobs.register(cls)
    job_kinds.register(_kind(cls))
    return cls


def _kind(cls: type[ScheduledJob] | type[ManualJob]) -> type[JobKind]:
    """Make the kind. What the definition forgot stays at the kind's default; its own check reports it."""

    def work(self: JobKind, run: Run) -> None:
        with run.step("work") as todo:
            if todo:
                running.work_off(job=base.jobs.get(cls.name), run=run)

    def changed(self: JobKind, jobs: Sequence[Job]) -> Mapping[int, str]:
        return overview.changed(jobs)

    options: dict[str, Any] = {
        "name": opening.kind_of(cls.name),
        "title": cls.title or cls.name,
        "queue": "interactive",
        "steps": (Step("work", cls.title or cls.name),),
        "replayable": False,  # an occurrence is replayed, see operating.replay_occurrence
        "run": work,
        "changed": changed,
        "changes": cls.title or cls.name,
        "__doc__": cls.__doc__,
        "__module__": cls.__module__,
    }
    stated = {"attempts": "max_attempts", "backoff": "backoff", "max_duration": "max_duration", "failure": "failure"}
    options |= {ours: getattr(cls, its) for its, ours in stated.items() if hasattr(cls, its)}
    options["lease"] = cls.lease
    return type(f"{cls.__name__}Kind", (JobKind,), options)
