"""Confirm a plan in two transactions: the code is judged and spent first, whatever comes after it.

(A) `stepup.confirm` commits its own. (B) `plan.confirm` locks the plan, the people and the items,
recomputes the digest from what is there now, and claims every line's item and submits the job, or
refuses and moves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.db.models import F
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from backoffice import commands, jobs, money, stepup
from backoffice.commands import Actor, Outcome, command
from backoffice.errors import Refusal
from backoffice.tenants.models import User
from queues.money import differing, four_eyes, ledger
from queues.money.base import MoneyAction, actions
from queues.money.differing import Difference
from queues.money.models import Plan

SECOND_CODE_HOURS = 24
JOB_KIND = "money.run-plan"


class PlanChanged(Refusal):
    """Refuse a plan whose items changed since the preview, and say which."""

    def __init__(self, differences: list[Difference]) -> None:
        super().__init__(
            "plan-changed",
            _("Something changed after the preview. Nothing was released; make a new preview."),
        )
        self.differences = differences


@dataclass(frozen=True)
class Confirmed:
    """What came of a code: whether another person's code is still needed, else the job that runs."""

    waiting: bool
    job_id: int | None


def confirm(*, person: User, plan_id: int, digest: str, code: str, key: str) -> Confirmed:
    """Confirm the plan with the person's code; outside a transaction only.

    Refuses what needs no code to be refused, then spends the code, then confirms. The same form sent
    twice has the same answer.
    """
    plan = Plan.objects.filter(pk=plan_id).first()
    if plan is not None and plan.state != Plan.State.DRAFT and person.pk in (plan.confirmed_by_id, plan.approved_by_id):
        return Confirmed(waiting=False, job_id=plan.job_id)
    require_confirmable(plan=plan, person=person, digest=digest)
    step_up = stepup.confirm(person=person, code=code, plan_id=plan_id, digest=digest, key=key)
    outcome = commands.dispatch(
        confirm_plan,
        actor=Actor.person(person),
        key=key,
        plan_id=plan_id,
        digest=digest,
        step_up_id=step_up.pk,
    )
    return Confirmed(waiting=outcome.data["waiting"], job_id=outcome.data["job_id"])


@command("plan.confirm", permission="money.confirm_release")
def confirm_plan(*, actor: Actor, plan_id: int, digest: str, step_up_id: int) -> Outcome:
    """Take one person's confirmation; with the last one needed, claim the items and submit the run."""
    person = actor.user
    assert person is not None  # the command names no system
    plan = Plan.objects.select_for_update(of=("self",)).select_related("requested_by").filter(pk=plan_id).first()
    require_confirmable(plan=plan, person=person, digest=digest)
    assert plan is not None  # the line above refused
    action = actions.get(plan.action)
    if not person.has_perm(action.confirm_permission):
        raise Refusal("not-permitted", _("You may not confirm this."))
    _require_room(action, plan)
    differences = differing.find(action=action, plan=plan, person_id=person.pk)
    if differences:
        raise PlanChanged(differences)
    stepup.consume(step_up_id=step_up_id, plan_id=plan_id, digest=digest, person=person)
    if _first_of_two(action, plan, person):
        return _wait_for_second(plan, person)
    return _start(action, plan, person)


def require_confirmable(*, plan: Plan | None, person: User, digest: str) -> None:
    """Refuse a plan that this person cannot confirm now, whatever the code."""
    if plan is None:
        raise Refusal("no-such-plan", _("There is no such plan."))
    if plan.state != Plan.State.DRAFT:
        raise Refusal("not-a-draft", _("This plan was confirmed or cancelled already."))
    if Plan.objects.filter(pk=plan.pk, expires_at__lte=Now()).exists():
        raise Refusal("plan-expired", _("This preview has expired. Make a new one."))
    if not plan.line_count:
        raise Refusal("nothing-to-release", _("Every selected item was left out; there is nothing to release."))
    if digest != plan.digest:
        raise Refusal("digest-differs", _("The page you confirmed is not this plan. Reload it."))
    if plan.confirmed_by_id == person.pk:
        raise Refusal("same-person", _("You gave the first code; another person has to give the second."))
    if plan.confirmed_by_id is not None and plan.requested_by_id == person.pk:
        raise Refusal("same-person", _("You made this plan; another person has to give the second code."))


def _require_room(action: MoneyAction, plan: Plan) -> None:
    """Refuse a plan whose totals pass the limits as they are now: they may have been lowered since the preview."""
    for row in plan.totals:
        currency, total = row["currency"], Decimal(row["total"])
        limit = action.limits.get(currency)
        if limit is None or total > limit.total:
            words = _("%(total)s passes the limit of %(currency)s %(limit)s, as it is now. Make a new plan.")
            shown = f"{limit.total:,}" if limit else "0"
            raise Refusal(
                "over-limit", words % {"total": money.show(total, currency), "currency": currency, "limit": shown}
            )


def _first_of_two(action: MoneyAction, plan: Plan, person: User) -> bool:
    """Say whether this is the first of two codes. The one who made the plan gives the first, when they may."""
    if plan.confirmed_by_id is not None:
        return False
    four_eyes.lock_people(people={person.pk, plan.requested_by_id})
    if not four_eyes.over_threshold(action=action, plan=plan, person=person):
        return False
    requester = plan.requested_by
    if requester != person and requester.has_perm(action.confirm_permission):
        raise Refusal("requester-first", _("%s made this plan and gives the first of its two codes.") % requester)
    return True


def _wait_for_second(plan: Plan, person: User) -> Outcome:
    Plan.objects.filter(pk=plan.pk).update(
        four_eyes=True,
        confirmed_by=person,
        confirmed_at=Now(),
        expires_at=Now() + timedelta(hours=SECOND_CODE_HOURS),
    )
    return Outcome(target=plan.target, data={"waiting": True, "job_id": None, "digest": plan.digest})


def _start(action: MoneyAction, plan: Plan, person: User) -> Outcome:
    claimed = action.model.objects.filter(pk__in=plan.lines.values("item_id"), plan_id=None).update(
        plan_id=plan.pk, version=F("version") + 1
    )
    if claimed != plan.line_count:
        raise AssertionError("the items are locked and were compared; each is there and free")
    ledger.open_accounts(currencies=[row["currency"] for row in plan.totals])
    job = jobs.submit(kind=JOB_KIND, key=f"plan:{plan.pk}", arguments={"plan_id": plan.pk}, requested_by=person)
    first = plan.confirmed_by_id is None
    given: dict[str, Any] = (
        {"confirmed_by": person, "confirmed_at": Now()} if first else {"approved_by": person, "approved_at": Now()}
    )
    Plan.objects.filter(pk=plan.pk).update(state=Plan.State.CONFIRMED, job_id=job.pk, **given)
    return Outcome(target=plan.target, data={"waiting": False, "job_id": job.pk, "digest": plan.digest})
