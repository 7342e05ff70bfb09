"""Run a confirmed plan: one command per line, each in its own transaction under the line's own key.

A refused line is written down and the run goes on. A line that breaks is tried again by the job's
next attempt, after all others. Over a rail that is not in our database, `sending` is committed before
the call and the answer after it; an attempt that finds `sending` asks the rail and never sends again.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import structlog
from django.db import DataError, IntegrityError
from django.utils.translation import gettext as _

from backoffice import commands
from backoffice.commands import Actor, Command
from backoffice.errors import Refusal
from backoffice.jobs import Cancelled, StaleFence, Stopping
from queues.money import rails, settling
from queues.money.base import MoneyAction, actions
from queues.money.models import Plan, PlanLine
from queues.money.rails import Answer, Order, Rail, Result

if TYPE_CHECKING:
    from backoffice.jobs import Run

log = structlog.get_logger(__name__)

# What a line's own data can cause. Anything else ends the attempt: the database is away, or the guard says it is over.
_LINE_ERRORS = (ArithmeticError, LookupError, TypeError, ValueError, AssertionError, DataError, IntegrityError)
OPEN = (PlanLine.State.PLANNED, PlanLine.State.SENDING)


class LinesBroke(Exception):
    """Say that some lines met an unexpected error and wait for the job's next attempt."""


def run_plan(*, run: Run, plan_id: int) -> None:
    """Release every open line of the plan in its order, then close it.

    A cancelled run, and the last attempt when it fails, stop the plan: what is open is free again.
    """
    plan = Plan.objects.get(pk=plan_id)
    action = actions.get(plan.action)
    system = actor_for(plan)
    try:
        with run.step("release") as todo:
            if todo:
                _dispatch(settling.start_plan, run.guard, system, f"plan:{plan.pk}:start", plan_id=plan.pk)
                _release_lines(run, plan, action, system)
        with run.step("close") as todo:
            if todo:
                _dispatch(settling.close_plan, run.guard, system, f"plan:{plan.pk}:close", plan_id=plan.pk)
    except Cancelled:
        _stop(run, plan, system, _("Its run was cancelled."))
        raise
    except (StaleFence, Stopping):
        raise  # another execution goes on
    except Exception:
        if run.job.attempt >= run.job.max_attempts:
            _stop(run, plan, system, _("Its run failed."))
        raise


def actor_for(plan: Plan) -> Actor:
    """Return the system that acts for the plan."""
    return Actor.system("plan", acting_for=plan.target)


def _release_lines(run: Run, plan: Plan, action: MoneyAction, system: Actor) -> None:
    lines = list(PlanLine.objects.filter(plan=plan, state__in=OPEN).order_by("position"))
    done = plan.line_count - len(lines)
    rail = rails.rails.get(action.rail)
    broken = 0
    for line in lines:
        try:
            if rail.in_database:
                _command(run, plan, action, system, line)
            else:
                _through(rail, run, plan, action, system, line)
        except Refusal as refusal:
            _refuse(run, system, line, refusal)
        except _LINE_ERRORS:
            broken += 1
            log.exception("plan.line-broke", plan_id=plan.pk, position=line.position)
        done += 1
        run.report(done - broken, plan.line_count)
    if broken:
        raise LinesBroke(f"{broken} lines of plan {plan.pk}")


def _command(run: Run, plan: Plan, action: MoneyAction, system: Actor, line: PlanLine, **more: Any) -> None:
    _dispatch(
        action.command,
        run.guard,
        system,
        line.key,
        item_id=line.item_id,
        plan_id=plan.pk,
        line_id=line.pk,
        confirmers=[pk for pk in (plan.confirmed_by_id, plan.approved_by_id) if pk is not None],
        **more,
    )


def _through(rail: Rail, run: Run, plan: Plan, action: MoneyAction, system: Actor, line: PlanLine) -> None:
    if line.state == PlanLine.State.SENDING:
        answer = _ask(rail, line)
    else:
        _dispatch(settling.send_line, run.guard, system, f"{line.key}:send", plan_id=plan.pk, line_id=line.pk)
        answer = _send(rail, line)
    if answer.result is Result.REFUSED:
        raise Refusal(answer.code or "rail-refused", answer.words or _("The rail refused the payment."))
    if answer.result is Result.UNKNOWN:
        _doubt(run, system, line, "rail-silent", _("The rail gave no clear answer. Ask it by the line's key first."))
        return
    try:
        _command(run, plan, action, system, line, reference=answer.reference)
    except Refusal as refusal:  # the money went: this is no refusal any more
        words = _("The rail paid, but it could not be booked: %s") % refusal.message
        _doubt(run, system, line, "paid-not-booked", words)


def _doubt(run: Run, system: Actor, line: PlanLine, code: str, words: str) -> None:
    _dispatch(
        settling.doubt_line,
        run.guard,
        system,
        f"{line.key}:doubt",
        plan_id=line.plan_id,
        line_id=line.pk,
        code=code,
        words=words,
    )


def _send(rail: Rail, line: PlanLine) -> Answer:
    order = Order(line.payee, line.account, line.amount, line.currency, line.reference)
    try:
        return rail.send(line.key, order)
    except Exception:
        log.exception("plan.rail-failed", rail=rail.name, key=line.key)
        return _ask(rail, line)


def _ask(rail: Rail, line: PlanLine) -> Answer:
    try:
        return rail.ask(line.key)
    except Exception:
        log.exception("plan.rail-silent", rail=rail.name, key=line.key)
        return Answer(Result.UNKNOWN)


def _refuse(run: Run, system: Actor, line: PlanLine, refusal: Refusal) -> None:
    _dispatch(
        settling.refuse_line,
        run.guard,
        system,
        f"{line.key}:refuse",
        plan_id=line.plan_id,
        line_id=line.pk,
        code=refusal.code,
        words=str(refusal.message),
    )


def _stop(run: Run, plan: Plan, system: Actor, reason: str) -> None:
    def still_ours() -> None:
        with suppress(Cancelled):  # that is why it stops
            run.guard()

    _dispatch(settling.stop_plan, still_ours, system, f"plan:{plan.pk}:stop", plan_id=plan.pk, reason=reason)


def _dispatch(command: Command, guard: Callable[[], None], system: Actor, key: str, **arguments: Any) -> None:
    commands.dispatch(command, actor=system, key=key, guard=guard, **arguments)
