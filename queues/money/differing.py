"""Compare a frozen plan with what is there now, line by line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from backoffice import money
from backoffice.errors import Refusal
from queues.money import planning
from queues.money.base import MoneyAction
from queues.money.digesting import Fact, digest_of
from queues.money.models import Plan, PlanLine

_LABELS = {
    "reference": gettext_lazy("reference"),
    "payee": gettext_lazy("payee"),
    "account": gettext_lazy("account"),
    "amount": gettext_lazy("amount"),
    "money_version": gettext_lazy("approval"),
}


@dataclass(frozen=True)
class Difference:
    """One thing that is not as it was previewed."""

    position: int
    reference: str
    what: str
    before: str
    after: str


def find(*, action: MoneyAction, plan: Plan, person_id: int) -> list[Difference]:
    """Lock the plan's items in the order of their ids and return what changed; none when the digests agree."""
    lines = list(PlanLine.objects.filter(plan=plan).order_by("position"))
    items = {
        item.pk: item
        for item in action.model.objects.select_for_update()
        .filter(pk__in=[line.item_id for line in lines])
        .order_by("pk")
    }
    held = planning.held_by_others(action=action, items=list(items.values()), person_id=person_id)
    facts: list[Fact] = []
    found: list[Difference] = []
    for line in lines:
        try:
            fact = planning.fact_now(action=action, item=_present(items, line), held=held)
        except Refusal as refusal:
            found.append(_gone(line, str(refusal.message)))
        else:
            facts.append(fact)
            found.extend(_compare(line, fact))
    if not found and digest_of(action=plan.action, facts=facts) != plan.digest:
        raise Refusal("digest-differs", _("The stored plan is not what was previewed. Nothing was released."))
    return found


def _present(items: dict[int, Any], line: PlanLine) -> Any:
    try:
        return items[line.item_id]
    except KeyError:
        raise Refusal("not-found", _("It is gone.")) from None


def _gone(line: PlanLine, words: str) -> Difference:
    before = money.show(line.amount, line.currency)
    return Difference(line.position, line.reference, _("not payable now"), before, words)


def _compare(line: PlanLine, fact: Fact) -> list[Difference]:
    changed: list[Difference] = []
    for name, label in _LABELS.items():
        before, after = getattr(line, name), getattr(fact, name)
        if name == "amount":
            same = (before, line.currency) == (after, fact.currency)
            before, after = money.show(before, line.currency), money.show(after, fact.currency)
        else:
            same = before == after
        if not same and (name != "money_version" or not changed):
            changed.append(_difference(line, name, str(label), str(before), str(after)))
    return changed


def _difference(line: PlanLine, name: str, label: str, before: str, after: str) -> Difference:
    if name == "money_version":
        before, after = _("as previewed"), _("changed and changed back, or approved anew")
    return Difference(line.position, line.reference, label, before, after)
