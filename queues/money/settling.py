"""The commands that move a plan and its lines around the money itself."""

from __future__ import annotations

from django.db.models.functions import Now
from django.utils.translation import gettext as _

from backoffice import jobs
from backoffice.commands import Actor, Outcome, command
from backoffice.errors import Refusal
from backoffice.jobs.models import Job
from queues.money import lines
from queues.money.base import MoneyAction, actions
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
    """End a plan whose run is ending before its time: by its own run, under the run's fence."""
    plan = Plan.objects.select_for_update().get(pk=plan_id)
    return Outcome(target=plan.target, data={"stopped": stop(plan=plan, reason=reason), **_counts(plan_id)})


@command("plan.halt", permission="money.confirm_release")
def halt_plan(*, actor: Actor, plan_id: int) -> Outcome:
    """Stop a confirmed plan for a person: at once while it waits or once its run has ended, else by asking its run."""
    job = Job.objects.filter(pk__in=Plan.objects.filter(pk=plan_id).values("job_id")).first()
    if job is None:
        raise Refusal("not-confirmed", _("This plan is not confirmed, or it has ended."))
    jobs.request_cancel(job=job, by=actor.name)
    plan = Plan.objects.select_for_update().get(pk=plan_id)
    if plan.state not in (Plan.State.CONFIRMED, Plan.State.RUNNING):
        raise Refusal("not-confirmed", _("This plan is not confirmed, or it has ended."))
    stopped = job.is_final and stop(plan=plan, reason=_("Stopped by %s.") % actor.name)
    return Outcome(target=plan.target, data={"stopped": stopped, **_counts(plan_id)})


def stop_ended(*, action: MoneyAction) -> int:
    """Stop, in the caller's transaction, every plan whose job ended without closing it; return how many.

    A worker that is killed for good cannot stop its own plan. Whatever plans anew calls this first.
    """
    ended = Job.objects.filter(state__in=[jobs.JobState.FAILED, jobs.JobState.CANCELLED]).values("pk")
    plans = Plan.objects.select_for_update(skip_locked=True).filter(
        action=action.name, state__in=[Plan.State.CONFIRMED, Plan.State.RUNNING], job_id__in=ended
    )
    return sum(stop(plan=plan, reason=_("Its run ended early.")) for plan in plans.order_by("pk"))


def stop(*, plan: Plan, reason: str) -> bool:
    """End the locked plan: its open lines are not started and their items free. False when it had ended.

    A line whose rail was called without an answer becomes unknown: its item stays with the plan.
    """
    if plan.state not in (Plan.State.CONFIRMED, Plan.State.RUNNING):
        return False
    rows = PlanLine.objects.select_for_update().filter(plan=plan)
    item_ids = list(rows.filter(state=State.PLANNED).values_list("item_id", flat=True))
    rows.filter(state=State.SENDING).update(state=State.UNKNOWN)
    rows.filter(state=State.PLANNED).update(state=State.NOT_STARTED, settled_at=Now())
    lines.free_items(action=actions.get(plan.action), plan_id=plan.pk, item_ids=item_ids)
    Plan.objects.filter(pk=plan.pk).update(state=Plan.State.CANCELLED, settled_at=Now(), settled_reason=reason[:300])
    return True


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
def doubt_line(*, actor: Actor, plan_id: int, line_id: int, code: str, words: str) -> Outcome:
    """Note that it is not clear what became of a line: a person has to find out, and nothing is sent again."""
    line = lines.settle(
        plan_id=plan_id, line_id=line_id, state=State.UNKNOWN, before=(State.SENDING,), code=code, words=words
    )
    return Outcome(target=f"plan:{plan_id}", data={"position": line.position, "code": code})


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
