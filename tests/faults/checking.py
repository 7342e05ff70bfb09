"""The offline checker: read what the record, the audit and the outside say, and name each thing that cannot be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import redis
from django.conf import settings
from django.db import connection

from backoffice.jobs.models import Job, JobEvent, JobStep, Notice
from backoffice.jobs.states import FINAL, STEP_FINAL
from backoffice.tenants import scope
from tests.faults.load import Intention
from tests.probe_jobs.definitions.probes import CANARY

STEPS = ("one", "two", "three")
_ENDS = {str(state) for state in FINAL}
_GIVEN_BACK = {"retry", "lost", "interrupted", "continued"}


class Watcher:
    """Sample the record during the run: what has ended stays as it is, fences and progress never fall."""

    def __init__(self) -> None:
        self.seen: dict[int, tuple[Any, ...]] = {}
        self.problems: list[str] = []
        self.samples = 0

    def look(self) -> None:
        """Take a sample."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT id, fence, progress, event_no, state, settled_at, safe_reason FROM job")
            rows = cursor.fetchall()
        self.samples += 1
        for job, *now in rows:
            last = self.seen.get(job)
            if last is not None and last[4] is not None and last != tuple(now):
                self.problems.append(f"job {job} had ended as {last} and is now {tuple(now)}")
            if last is not None and any(new < old for old, new in zip(last[:3], now[:3], strict=True)):
                self.problems.append(f"job {job} fell from {last[:3]} to {now[:3]}")
            self.seen[job] = tuple(now)

    def forgive(self) -> None:
        """Forget what has not ended: a server that stops at once may lose reports, which do not wait for its disk."""
        self.seen = {job: row for job, row in self.seen.items() if row[4] is not None}


def problems(*, intentions: list[Intention], cancelled: set[int], folder: Path) -> list[str]:
    """Return what is wrong, in words; an empty list when the record can be trusted."""
    with scope.unscoped(reason="the checker reads all that there is"):
        jobs = {job.pk: job for job in Job.objects.all()}
        events: dict[int, list[JobEvent]] = {pk: [] for pk in jobs}
        for event in JobEvent.objects.order_by("job_id", "seq"):
            events[event.job_id].append(event)
        steps: dict[int, list[JobStep]] = {pk: [] for pk in jobs}
        for step in JobStep.objects.all():
            steps[step.job_id].append(step)
        found = [
            f"job {pk}: {what}"
            for pk, job in jobs.items()
            for what in (*_of_job(job, events[pk]), *_of_steps(job, steps[pk], events[pk]))
        ]
        found += _of_effects(jobs, steps, folder)
        found += _of_intentions(jobs, intentions, cancelled)
        found += _of_notices(jobs)
        return [*found, *_of_secrets()]


def _of_job(job: Job, events: list[JobEvent]) -> Iterator[str]:
    if job.state not in _ENDS or job.settled_at is None:
        yield f"never settled, {job.state}"
    ends = [event for event in events if event.name in _ENDS]
    if len(ends) != 1 or ends[0] is not events[-1] or ends[0].name != job.state:
        yield f"ended {[(event.seq, event.name) for event in ends]} of {len(events)}, is {job.state}"
    if [event.seq for event in events] != list(range(1, job.event_no + 1)):
        yield f"events {[event.seq for event in events]} of {job.event_no}"
    claims = [event.fence for event in events if event.name == "claimed"]
    if claims != list(range(1, job.fence + 1)):
        yield f"claimed under {claims}, fence {job.fence}"
    for one, next_one in pairwise(events):
        if next_one.fence < one.fence or next_one.at < one.at:
            yield f"event {next_one.seq} goes back from {one.fence, one.at} to {next_one.fence, next_one.at}"
    if job.attempt > job.max_attempts:
        yield f"{job.attempt} attempts of {job.max_attempts}"
    held = False
    for event in events:
        if event.name == "claimed":
            if held:
                yield f"claimed while held, event {event.seq}"
            held = True
        elif event.name in _GIVEN_BACK or event.name in _ENDS:
            if not held and event.name in {*_GIVEN_BACK, "succeeded"}:
                yield f"{event.name} without a run, event {event.seq}"
            held = False
        elif event.name.startswith("step-") and not held:
            yield f"{event.name} without a run, event {event.seq}"


def _is_probe(job: Job) -> bool:
    """Tell the run's own jobs from those of the product's timetable."""
    return job.kind.startswith("probe.")


def _of_steps(job: Job, steps: list[JobStep], events: list[JobEvent]) -> Iterator[str]:
    if _is_probe(job) and sorted(step.name for step in steps) != sorted(STEPS):
        yield f"steps {[step.name for step in steps]}"
    if any(step.state not in STEP_FINAL for step in steps):
        yield "a step never ended"
    done = Counter(event.data["step"] for event in events if event.name == "step-succeeded")
    if any(count > 1 for count in done.values()):
        yield f"a step succeeded twice: {done}"
    if set(done) != {step.name for step in steps if step.state == "succeeded"}:
        yield f"succeeded steps {set(done)} are not the rows'"
    if job.progress != (100 if job.state == "succeeded" else round(100 * len(done) / len(steps))):
        yield f"progress {job.progress} with {len(done)} steps done"


def _of_effects(jobs: dict[int, Job], steps: dict[int, list[JobStep]], folder: Path) -> Iterator[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT target, count(*) FROM audit_auditevent WHERE act = 'probe.mark' AND outcome = 'done' GROUP BY 1"
        )
        inside = {target.removeprefix("probe:").replace(":", "-"): count for target, count in cursor.fetchall()}
    outside = Counter((folder / "effects").read_text().split())
    for kind, effects in (("inside", inside), ("outside", outside)):
        for key, count in effects.items():
            if count > 1:
                yield f"effect {key} happened {count} times {kind}"
            if int(key.split("-")[0]) not in jobs:
                yield f"effect {key} {kind} is no job's"
        for pk in (pk for pk, job in jobs.items() if _is_probe(job)):
            for step in steps[pk]:
                if step.state == "succeeded" and effects.get(f"{pk}-{step.name}", 0) != 1:
                    yield f"effect {pk}-{step.name} of a step that is done is missing {kind}"


def _of_intentions(jobs: dict[int, Job], intentions: list[Intention], cancelled: set[int]) -> Iterator[str]:
    named = Counter((job.kind, job.submission_key) for job in jobs.values())
    for wanted in intentions:
        count = named[wanted.kind, wanted.key]
        if count != 1 or wanted.job not in jobs:
            yield f"{wanted.key} has {count} jobs, was told {wanted.job}"
            continue
        job = jobs[wanted.job]
        allowed = {wanted.outcome, "cancelled"} if job.pk in cancelled else {wanted.outcome}
        if job.state not in allowed:
            yield f"job {job.pk} is {job.state} ({job.code}, attempt {job.attempt}), not {allowed}"


def _of_notices(jobs: dict[int, Job]) -> Iterator[str]:
    told = Counter(Notice.objects.values_list("job_id", flat=True))
    for job in jobs.values():
        if told[job.pk] != (1 if job.requested_by_id is not None else 0):
            yield f"job {job.pk} gave {told[job.pk]} notices"


def _of_secrets() -> Iterator[str]:
    with connection.cursor() as cursor:
        for table in ("job", "job_step", "job_event"):
            cursor.execute(f"SELECT count(*) FROM {table} AS one WHERE one::text LIKE %s", [f"%{CANARY}%"])
            if cursor.fetchone()[0]:
                yield f"a secret of an exception is in {table}"
    broker = redis.Redis.from_url(settings.REDIS_URL)
    if any(CANARY.encode() in (broker.dump(key) or b"") for key in broker.keys("*")):
        yield "a secret of an exception is in the broker"
