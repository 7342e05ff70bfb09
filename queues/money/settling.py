"""The commands that move a plan and its lines around the money itself."""

from __future__ import annotations

from django.db.models.functions import Now
from django.utils.translation import gettext as _

from backoffice.commands import Actor, Outcome, command
from backoffice.errors import Refusal
from queues.money import lines
from queues.money.base import actions
from queues.money.models import Plan, PlanLine

State = PlanLine.State


@command("plan.start", systems=("plan",))
def start_plan(*, actor: Actor, plan_id: int) -> Outcome:
    """Note that the run of a confirmed plan began."""
    changed = Plan.objects.filter(pk=plan_id, state=Plan.State.CONFIRMED).update(state=Plan.State.RUNNING)
    if not changed:
        raise Refusal("not-confirmed", _("This plan is not confirmed, or it has ended."))
    return Outcome(target=f"plan:{plan_id}")


@command("plan.close", systems=("plan",))
def close_plan(*, actor: Actor, plan_id: int) -> Outcome:
    """End a plan whose every line has its outcome."""
    if PlanLine.objects.filter(plan_id=plan_id, state__in=[State.PLANNED, State.SENDING]).exists():
        raise Refusal("lines-open", _("Some lines have no outcome yet."))
    changed = Plan.objects.filter(pk=plan_id, state=Plan.State.RUNNING).update(state=Plan.State.DONE, settled_at=Now())
    if not changed:
        raise Refusal("not-running", _("This plan is not running."))
    return Outcome(target=f"plan:{plan_id}", data=_counts(plan_id))


@command("plan.stop", systems=("plan",))
def stop_plan(*, actor: Actor, plan_id: int, reason: str) -> Outcome:
    """End a plan whose job was cancelled or failed: open lines are not started, their items free again.

    A line whose rail was called without an answer becomes unknown: its item stays with the plan.
    """
    plan = Plan.objects.select_for_update().get(pk=plan_id)
    if plan.state not in (Plan.State.CONFIRMED, Plan.State.RUNNING):
        return Outcome(target=plan.target, data={"stopped": False})
    open_lines = PlanLine.objects.select_for_update().filter(plan=plan)
    item_ids = list(open_lines.filter(state=State.PLANNED).values_list("item_id", flat=True))
    open_lines.filter(state=State.SENDING).update(state=State.UNKNOWN)
    open_lines.filter(state=State.PLANNED).update(state=State.NOT_STARTED, settled_at=Now())
    lines.free_items(action=actions.get(plan.action), plan_id=plan_id, item_ids=item_ids)
    Plan.objects.filter(pk=plan_id).update(state=Plan.State.CANCELLED, settled_at=Now(), settled_reason=reason[:300])
    return Outcome(target=plan.target, data={"stopped": True, **_counts(plan_id)})


@command("plan.cancel", permission="money.plan_release")
def cancel_plan(*, actor: Actor, plan_id: int) -> Outcome:
    """Drop a plan that nobody's last code confirmed yet."""
    changed = Plan.objects.filter(pk=plan_id, state=Plan.State.DRAFT).update(
        state=Plan.State.CANCELLED, settled_at=Now(), settled_reason=_("Dropped before it was confirmed.")
    )
    if not changed:
        raise Refusal("not-a-draft", _("This plan was confirmed or cancelled already."))
    return Outcome(target=f"plan:{plan_id}")


@command("plan.send-line", systems=("plan",))
def send_line(*, actor: Actor, plan_id: int, line_id: int) -> Outcome:
    """Note, before the call, that a line goes to its rail."""
    line = lines.settle(plan_id=plan_id, line_id=line_id, state=State.SENDING, before=(State.PLANNED,))
    return Outcome(target=f"plan:{plan_id}", data={"position": line.position})


@command("plan.doubt-line", systems=("plan",))
def doubt_line(*, actor: Actor, plan_id: int, line_id: int) -> Outcome:
    """Note that the rail gave no clear answer: a person has to find out, and nothing is sent again."""
    line = lines.settle(
        plan_id=plan_id,
        line_id=line_id,
        state=State.UNKNOWN,
        before=(State.SENDING,),
        code="rail-silent",
        words=_("The rail gave no clear answer. Ask it by the key before anything else."),
    )
    return Outcome(target=f"plan:{plan_id}", data={"position": line.position})


@command("plan.refuse-line", systems=("plan",))
def refuse_line(*, actor: Actor, plan_id: int, line_id: int, code: str, words: str) -> Outcome:
    """Write a line's refusal down and let its item go."""
    line = lines.settle(
        plan_id=plan_id,
        line_id=line_id,
        state=State.REFUSED,
        before=(State.PLANNED, State.SENDING),
        code=code,
        words=words,
    )
    action = actions.get(Plan.objects.values_list("action", flat=True).get(pk=plan_id))
    lines.free_items(action=action, plan_id=plan_id, item_ids=[line.item_id])
    return Outcome(target=f"plan:{plan_id}", data={"position": line.position, "code": code})


def _counts(plan_id: int) -> dict[str, int]:
    counts: dict[str, int] = {}
    for tally in lines.tallies(plan_id=plan_id):
        counts[tally.state] = counts.get(tally.state, 0) + tally.count
    return counts
