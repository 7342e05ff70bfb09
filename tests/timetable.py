"""Definitions, schedules and runs for tests of the timetable."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from backoffice import commands, schedules
from backoffice.commands import Actor, Outcome, registering
from backoffice.errors import Refusal
from backoffice.jobs import Backoff, NoConsequence, kinds
from backoffice.jobs.keeping import Keeper
from backoffice.jobs.models import Job
from backoffice.jobs.running import Exit, Run, work
from backoffice.schedules import ManualJob, Misfire, ScheduledJob, Spread, StillGoing, base, fanning_out
from backoffice.schedules.models import Occurrence, Schedule
from backoffice.schedules.work import Item

NOON = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)
done: list[str] = []
broken: set[str] = set()
refused: set[str] = set()
before_each: list[Callable[[str], None]] = []


def fruit(*, now: datetime, after: str, limit: int) -> Sequence[Item]:
    """Select three items by their keys."""
    return [Item(key=k, arguments={"fruit": k}) for k in ("apple", "pear", "plum") if k > after][:limit]


@contextmanager
def definition(
    name: str = "test.job", *, kind: type[ScheduledJob] | type[ManualJob] = ScheduledJob, **options: Any
) -> Iterator[Any]:
    """Register a scheduled job and its command for the block."""
    done.clear(), broken.clear(), refused.clear(), before_each.clear()

    @commands.command("test.eat", systems=("schedules",))
    def eat(*, actor: Actor, fruit: str = "") -> Outcome:
        for act in before_each:
            act(fruit)
        if fruit in refused:
            raise Refusal("bitter", "Too bitter.")
        if fruit in broken:
            raise RuntimeError("a bug")
        done.append(fruit)
        return Outcome(target=f"fruit:{fruit}")

    stated: dict[str, Any] = {
        "name": name,
        "__doc__": "Eat fruit.",
        "title": "Eat",
        "spread": Spread.TENANT,
        "selects": fruit,
        "runs": eat,
        "batch_size": 2,
        "attempts": 3,
        "backoff": Backoff(first=timedelta(0)),
        "max_duration": timedelta(minutes=1),
        "retention": "schedules.retention",
        "failure": NoConsequence("fruit keeps"),
        "runbook": schedules.runbook_of(name),
    }
    if issubclass(kind, ScheduledJob):
        stated |= {"misfire": Misfire.INTERVAL, "cap": 1_000, "still_going": StillGoing.ALLOW}
        if "cron" not in options:
            stated["every"] = timedelta(minutes=1)
    cls = type("Eat", (kind,), {**stated, **options})
    schedules.register(cls)
    try:
        yield base.jobs.get(name)
    finally:
        base.jobs._by_name.pop(name)
        kinds._by_name.pop(f"schedule:{name}")
        registering._commands.pop("test.eat")


def row(name: str = "test.job", *, cursor: datetime = NOON, **values: Any) -> Schedule:
    """Make the definition's rows, and set the open tenant's to a cursor."""
    fanning_out.fan_out(now=cursor)
    made = Schedule.objects.get(definition=name)
    job = base.jobs.get(name)
    made.cursor, made.next_at = cursor, fanning_out.next_instant(job, after=cursor)
    made.save()
    return made


def run_job(job: Job, *, asked_to_stop: Callable[[], bool] = lambda: False, owner: str = "test") -> Exit:
    """Claim the job as a worker does, and run it in this process."""
    return work(claim(job, asked_to_stop=asked_to_stop, owner=owner))


def claim(job: Job, *, asked_to_stop: Callable[[], bool] = lambda: False, owner: str = "test") -> Run:
    """Take the job under a new fence."""
    keeper = Keeper(owner)
    held = keeper.claim(job_id=job.pk, kinds=[job.kind])
    keeper.close()
    assert held is not None, "there was nothing to claim"
    return Run(job=held.job, steps=held.steps, asked_to_stop=asked_to_stop)


def job_of(occurrence: Occurrence) -> Job:
    """Return the occurrence's latest job."""
    return Job.objects.filter(occurrence=occurrence.pk).latest("id")
