"""Run a bulk run: one command an item, under the item's own key, as the person who asked for it.

What each command is follows from the frozen line alone, so that a repeat is the same command and has one
effect. Answers are written down in small batches; a run that dies between two of them finds the receipts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any
from uuid import uuid4
from zoneinfo import ZoneInfo

import structlog
from django.db import DataError, IntegrityError
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from backoffice import commands
from backoffice.commands import Actor, Command
from backoffice.errors import Refusal
from backoffice.jobs import Cancelled, StaleFence, Stopping
from backoffice.tenants.models import User
from queues import bulk, claiming, handing, setting_aside, sharing
from queues.models import BulkLine, BulkRun

if TYPE_CHECKING:
    from backoffice.jobs import Run

log = structlog.get_logger(__name__)

BATCH = 25  # answers that are written down at once; the person's roles are read anew as often
_LINE_ERRORS = (ArithmeticError, LookupError, TypeError, ValueError, AssertionError, DataError, IntegrityError)
Guard = Callable[[], None]


class LinesBroke(Exception):
    """Say that some lines met an unexpected error and wait for the job's next attempt."""


def run_now(*, run_id: int) -> None:
    """Do a small run in the request; what breaks is left open, to be gone on with."""
    run = BulkRun.objects.get(pk=run_id)
    if not _do_lines(run, None, lambda done: None):
        _end(run, None, "")


def run_job(*, run: Run, run_id: int) -> None:
    """Do every open line, then end the run. A cancelled run, and a last attempt that fails, end it too."""
    found = BulkRun.objects.get(pk=run_id)
    before = found.line_count - found.lines.filter(state=BulkLine.State.OPEN).count()
    try:
        with run.step("items") as todo:
            if todo:
                broken = _do_lines(found, run.guard, lambda done: run.report(before + done, found.line_count))
                if broken:
                    raise LinesBroke(f"{broken} lines of bulk run {found.pk}")
                _end(found, run.guard, "")
    except Cancelled:
        _end(found, _still_ours(run), _("It was cancelled."))
        raise
    except (StaleFence, Stopping):
        raise  # another execution goes on
    except Exception:
        if run.job.attempt >= run.job.max_attempts:
            _end(found, _still_ours(run), _("It failed."))
        raise


def _do_lines(run: BulkRun, guard: Guard | None, report: Callable[[int], None]) -> int:
    """Do the open lines in their order; return how many broke."""
    done = broken = 0
    for lines in _batches(run):
        actor = _actor(run)
        answers: list[dict[str, Any]] = []
        try:
            with _in_their_words(actor):
                for line in lines:
                    try:
                        answers.append(_one(run, line, actor, guard))
                    except _LINE_ERRORS:
                        broken += 1
                        log.exception("bulk.line-broke", run_id=run.pk, position=line.position)
        finally:  # what was done before a cancellation is written down too
            if answers:
                _keep(run, answers, guard)
        done += len(answers)
        report(done)
    return broken


def _batches(run: BulkRun) -> Iterator[list[BulkLine]]:
    last = 0
    rows = run.lines.filter(state=BulkLine.State.OPEN).order_by("position")
    while lines := list(rows.filter(position__gt=last)[:BATCH]):
        yield lines
        last = lines[-1].position


def _one(run: BulkRun, line: BulkLine, actor: Actor, guard: Guard | None) -> dict[str, Any]:
    answer: dict[str, Any] = {"position": line.position, "state": BulkLine.State.DONE.value, "given_to": None}
    try:
        command, wanted = _wanted(run, line)
        outcome = commands.dispatch(
            command, actor=actor, key=line.key, guard=guard, queue=run.queue, item_id=line.item_id, **wanted
        )
    except Refusal as refusal:
        refused = BulkLine.State.REFUSED.value
        return {**answer, "state": refused, "code": refusal.code, "words": str(refusal.message)}
    return {**answer, "given_to": outcome.data.get("to"), "code": "", "words": ""}


def _wanted(run: BulkRun, line: BulkLine) -> tuple[Command, dict[str, Any]]:
    """Return the line's command and its arguments, from what was frozen and nothing else."""
    mine = line.holder_id == run.requested_by_id
    if run.act == BulkRun.Act.SNOOZE and run.until is not None:
        seen = {"token": line.token if mine else None, "version": None if mine else line.version}
        return setting_aside.snooze_item, {"until": run.until.isoformat(), "reason": run.reason, **seen}
    if run.act == BulkRun.Act.ASSIGN and len(run.to) == 1:
        return handing.assign_item, {"to": run.to[0], "note": run.reason}
    if run.act == BulkRun.Act.ASSIGN:
        return sharing.share_item, {"among": list(run.to), "note": run.reason}
    if line.holder_id is None:
        raise Refusal("not-held", _("Nobody holds it."))
    if mine:
        return claiming.release_item, {"token": line.token}
    return handing.free_item, {"token": line.token, "reason": run.reason}


def _actor(run: BulkRun) -> Actor:
    """Return the person who asked, with the roles they have now; what they did is said to be of this run."""
    person = User.objects.get(pk=run.requested_by_id)
    return Actor(name=person.email, user=person, acting_for=run.target)


@contextmanager
def _in_their_words(actor: Actor) -> Iterator[None]:
    """Say refusals in the language and the time zone of who asked, as their own request would."""
    assert actor.user is not None
    language = actor.user.language or translation.get_language()
    with translation.override(language), timezone.override(ZoneInfo(actor.user.zone)):
        yield


def _keep(run: BulkRun, answers: list[dict[str, Any]], guard: Guard | None) -> None:
    def still_ours() -> None:
        with suppress(Cancelled):  # what is done is done
            if guard is not None:
                guard()

    # A fresh key: an earlier execution's answers to these lines may have been others, and settling is once a line.
    key = f"{run.target}:{uuid4().hex}"
    commands.dispatch(bulk.settle_lines, actor=_system(run), key=key, guard=still_ours, run_id=run.pk, answers=answers)


def _end(run: BulkRun, guard: Guard | None, reason: str) -> None:
    commands.dispatch(
        bulk.end_run, actor=_system(run), key=f"{run.target}:end", guard=guard, run_id=run.pk, reason=reason
    )


def _still_ours(run: Run) -> Guard:
    def check() -> None:
        with suppress(Cancelled):  # that is why it ends
            run.guard()

    return check


def _system(run: BulkRun) -> Actor:
    return Actor.system(bulk.SYSTEM, acting_for=run.target)
