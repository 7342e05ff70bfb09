"""What a plan's run changed, counted from the plan's own lines: for the notice, however the run ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

from django.db.models import Count, Sum
from django.utils.translation import gettext as _

from backoffice import money
from backoffice.jobs.models import Job
from queues.money.base import actions
from queues.money.lines import Tally
from queues.money.models import Plan, PlanLine

State = PlanLine.State


def changed(jobs: Sequence[Job]) -> Mapping[int, str]:
    """Say of each job how many of its plan's lines are released, and what became of the others. Two queries."""
    plans = {plan.pk: plan for plan in Plan.objects.filter(pk__in=[job.arguments.get("plan_id") for job in jobs])}
    counted = PlanLine.objects.filter(plan__in=plans).order_by().values_list("plan", "state", "currency")
    tallies: dict[int, list[Tally]] = {pk: [] for pk in plans}
    for plan, *tally in counted.annotate(Count("pk"), Sum("amount")).order_by("currency"):
        tallies[plan].append(Tally(*tally))
    found = {pk: _words(plan, tallies[pk]) for pk, plan in plans.items() if tallies[pk]}
    return {job.pk: found[job.arguments["plan_id"]] for job in jobs if job.arguments.get("plan_id") in found}


def _words(plan: Plan, tallies: list[Tally]) -> str:
    model = actions.get(plan.action).model if plan.action in actions else PlanLine
    things = {"done": _count(tallies, State.DONE), "all": sum(one.count for one in tallies)}
    words = _("%(done)s of %(all)s %(items)s released") % {
        **{name: f"{count:,}" for name, count in things.items()},
        "items": model._meta.verbose_name_plural,
    }
    released: dict[str, Decimal] = {}
    for one in tallies:
        if one.state == State.DONE:
            released[one.currency] = released.get(one.currency, Decimal(0)) + one.total
    sums = ", ".join(money.show(total, currency) for currency, total in released.items())
    others = [
        text % f"{count:,}"
        for text, count in (
            (_("%s refused."), _count(tallies, State.REFUSED)),
            (_("%s not released: no money moved for them."), _count(tallies, State.PLANNED, State.NOT_STARTED)),
            (_("%s unclear: the rail gave no answer. Look before you plan them again."),
             _count(tallies, State.SENDING, State.UNKNOWN)),
        )
        if count
    ]  # fmt: skip
    return " ".join([f"{words}: {sums}." if sums else f"{words}.", *others])


def _count(tallies: list[Tally], *states: State) -> int:
    return sum(one.count for one in tallies if one.state in states)
