"""Work an occurrence off: one command an item, each in its own transaction, resumable at the cursor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db import InterfaceError, OperationalError, connection

from backoffice import commands
from backoffice.commands import Actor
from backoffice.errors import BackofficeError, Refusal
from backoffice.jobs.errors import StaleFence, Stopping
from backoffice.schedules import operating
from backoffice.schedules.base import ManualJob, ScheduledJob
from backoffice.schedules.models import Occurrence
from backoffice.schedules.work import SYSTEM, Item
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant

if TYPE_CHECKING:
    from backoffice.jobs.running import Run

_SAVE = """
UPDATE schedules_occurrence SET cursor = %(cursor)s, items_done = %(done)s, items_refused = %(refused)s
 WHERE id = %(id)s AND fence = %(fence)s AND lease_until > clock_timestamp()
"""


class ItemsFailed(BackofficeError):
    """Say that some items could not be done in this attempt; the others were."""


@dataclass
class Tally:
    """What a run did so far. `cursor` stays before the first item that failed, where the next attempt resumes."""

    cursor: str
    done: int = 0
    refused: int = 0
    failed: int = 0


def work_off(*, job: ScheduledJob | ManualJob, run: Run) -> None:
    """Run the job's command for every selected item of the occurrence, batch by batch.

    A refused item is counted and left; an item that breaks is left for the next attempt while the
    others go on. An unreachable database or a lost lease ends the attempt at once.
    """
    occurrence = Occurrence.objects.get(pk=run.arguments["occurrence"])
    actor = Actor.system(SYSTEM, acting_for=f"occurrence:{occurrence.pk}")
    tally = Tally(occurrence.cursor, occurrence.items_done, occurrence.items_refused)
    after = tally.cursor
    broken: Exception | None = None
    more = True
    while more:
        run.check_cancelled()
        items = job.select(now=occurrence.scheduled_at, after=after, limit=job.batch_size)
        for item in items:
            _check(occurrence, run, tally)
            broken = _one(job, item, occurrence, actor, run, tally) or broken
        if items:
            after = items[-1].key
            _save(occurrence, run, tally)
        more = len(items) >= job.batch_size
        if more:
            run.report(done=tally.done + tally.refused, total=0)
    if tally.failed:
        raise ItemsFailed(f"{tally.failed} items of {occurrence.identity}") from broken


def _check(occurrence: Occurrence, run: Run, tally: Tally) -> None:
    """Stop here when the run is cancelled or its worker shuts down; the position is kept for a successor."""
    run.check_cancelled()
    try:
        run.check_stopping()
    except Stopping:
        _save(occurrence, run, tally)
        raise


def _one(
    job: ScheduledJob | ManualJob, item: Item, occurrence: Occurrence, actor: Actor, run: Run, tally: Tally
) -> Exception | None:
    tenant: Tenant = item.tenant or scope.current()
    try:
        with scope.open(tenant):
            operating.check_inside(job, tenant)
            outcome = commands.dispatch(
                type(job).runs,
                actor=actor,
                key=f"{occurrence.identity}:{item.key}",
                guard=run.guard,
                **item.arguments,
            )
    except Refusal:
        tally.refused += 1
    except (OperationalError, InterfaceError, StaleFence, Stopping):
        raise
    except Exception as error:
        tally.failed += 1
        return error
    else:
        tally.done += not outcome.replayed
    if not tally.failed:
        tally.cursor = item.key
    return None


def _save(occurrence: Occurrence, run: Run, tally: Tally) -> None:
    """Keep the position, under the fence: a worker that was replaced writes nothing and stops."""
    with connection.cursor() as cursor:
        cursor.execute(
            _SAVE,
            {
                "id": occurrence.pk,
                "fence": run.fence,
                "cursor": tally.cursor,
                "done": tally.done,
                "refused": tally.refused,
            },
        )
        if cursor.rowcount != 1:
            raise StaleFence(f"occurrence {occurrence.pk} is not under fence {run.fence} any more")
