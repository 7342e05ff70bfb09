"""Make the frozen plan: the selection resolved once, on the server, into lines and exclusions."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.db import connection
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from backoffice import livesettings
from backoffice.commands import Actor, Outcome, command
from backoffice.errors import Refusal
from backoffice.sql import read
from backoffice.tenants import scope
from backoffice.tenants.models import User
from queues import listing
from queues.base import queue_for
from queues.models import QueueItem
from queues.money import settling
from queues.money.base import MoneyAction, actions
from queues.money.digesting import Fact, digest_of, fact_of
from queues.money.models import Plan

_SQL = Path(__file__).parent / "sql"
PAID = "paid"  # the state that a released item ends in


@dataclass(frozen=True)
class LeftOut:
    """An item that the plan leaves out, and why."""

    item_id: int
    reference: str
    amount: Decimal | None
    currency: str
    code: str
    words: str


@dataclass
class Sorted:
    """A selection, sorted into what will be released and what will not, in the order of the items' ids."""

    facts: list[Fact] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    totals: dict[str, Decimal] = field(default_factory=lambda: defaultdict(Decimal))


@command("plan.create", permission="money.plan_release")
def create_plan(
    *, actor: Actor, action: str, item_ids: list[int] | None = None, filters: dict[str, str] | None = None
) -> Outcome:
    """Freeze a selection, by ids or by the list's filters, into a draft plan. It holds nothing."""
    assert actor.user is not None  # the command names no system
    definition = actions.get(action)
    if not actor.user.has_perm(definition.plan_permission):
        raise Refusal("not-permitted", _("You may not plan this."))
    settling.stop_ended(action=definition)
    items = select(action=definition, item_ids=item_ids, filters=filters, person=actor.user)
    made = sort(action=definition, items=items, person_id=actor.user.pk)
    made.left_out += _missing(item_ids, items)
    if not made.facts and not made.left_out:
        raise Refusal("nothing-selected", _("Nothing is selected."))
    plan = Plan.objects.create(
        tenant=scope.current(),
        action=definition.name,
        digest=digest_of(action=definition.name, facts=made.facts),
        totals=_totals(made.facts),
        line_count=len(made.facts),
        exclusion_count=len(made.left_out),
        requested_by=actor.user,
        expires_at=Now() + timedelta(minutes=livesettings.get("money.plan_minutes")),
    )
    _store_lines(plan, made.facts)
    _store_exclusions(plan, made.left_out)
    return Outcome(
        target=plan.target,
        data={
            "plan_id": plan.pk,
            "lines": plan.line_count,
            "exclusions": plan.exclusion_count,
            "totals": plan.totals,
            "digest": plan.digest,
        },
    )


def select(
    *, action: MoneyAction, item_ids: list[int] | None, filters: dict[str, str] | None, person: User
) -> list[Any]:
    """Return the selected items in the order of their ids; refuse more than the action's bound, all of them."""
    rows: QuerySet[Any]
    if item_ids is not None:
        if len(set(item_ids)) > action.max_items:
            raise _too_many(action)
        rows = action.model.objects.filter(pk__in=item_ids)
    else:
        rows = listing.matching(queue=queue_for(action.model), filters=filters or {}, person=person)
    items = list(rows.select_related(None).order_by("pk")[: action.max_items + 1])
    if len(items) > action.max_items:
        raise _too_many(action)
    return items


def sort(*, action: MoneyAction, items: list[QueueItem], person_id: int) -> Sorted:
    """Sort items into lines and exclusions; a currency's limit is filled in the order of the ids."""
    made, held = Sorted(), held_by_others(action=action, items=items, person_id=person_id)
    for item in items:
        try:
            fact = fact_now(action=action, item=item, held=held)
            _require_room(action, made, fact)
        except Refusal as refusal:
            made.left_out.append(_left_out(item, refusal))
        else:
            made.totals[fact.currency] += fact.amount
            made.facts.append(fact)
    return made


def fact_now(*, action: MoneyAction, item: Any, held: set[int]) -> Fact:
    """Return the item's line as it would be released now, or raise the Refusal that excludes it."""
    if item.plan_id is not None and item.state == PAID:
        raise Refusal("paid", _("It was paid already, by plan %d.") % item.plan_id)
    if item.plan_id is not None:
        raise Refusal("in-plan", _("It is in confirmed plan %d already.") % item.plan_id)
    if item.pk in held:
        raise Refusal("held", _("Another person is working on it."))
    return fact_of(item, action.line(item))


def held_by_others(*, action: MoneyAction, items: list[Any], person_id: int) -> set[int]:
    """Return which of the items another person holds right now, by the database's clock."""
    claimed = [item.pk for item in items if item.claim_holder_id not in (None, person_id)]
    if not claimed:
        return set()
    return set(action.model.objects.filter(pk__in=claimed, lease_until__gt=Now()).values_list("pk", flat=True))


def _require_room(action: MoneyAction, made: Sorted, fact: Fact) -> None:
    limit = action.limits.get(fact.currency)
    if limit is None:
        raise Refusal("no-limit", _("%s has no limit here, so it is not paid in bulk.") % fact.currency)
    if made.totals[fact.currency] + fact.amount > limit.total:
        words = _("The plan would pass the limit of %(currency)s %(total)s.")
        raise Refusal("over-limit", words % {"currency": fact.currency, "total": f"{limit.total:,}"})


def _left_out(item: Any, refusal: Refusal) -> LeftOut:
    return LeftOut(
        item_id=item.pk,
        reference=item.reference,
        amount=getattr(item, "amount", None),
        currency=getattr(item, "currency", ""),
        code=refusal.code,
        words=str(refusal.message)[:300],
    )


def _missing(item_ids: list[int] | None, items: list[Any]) -> list[LeftOut]:
    absent = sorted(set(item_ids or []) - {item.pk for item in items})
    return [LeftOut(pk, f"#{pk}", None, "", "not-found", _("There is no such item.")) for pk in absent]


def _too_many(action: MoneyAction) -> Refusal:
    return Refusal(
        "too-many",
        _("One plan holds at most %s items. Narrow the selection; nothing was planned.") % f"{action.max_items:,}",
    )


def _totals(facts: list[Fact]) -> list[dict[str, Any]]:
    totals: dict[str, Decimal] = defaultdict(Decimal)
    counts: dict[str, int] = defaultdict(int)
    for fact in facts:
        totals[fact.currency] += fact.amount
        counts[fact.currency] += 1
    return [{"currency": c, "count": counts[c], "total": f"{totals[c]:f}"} for c in sorted(totals)]


def _store_lines(plan: Plan, facts: list[Fact]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            read(_SQL / "insert_lines.sql"),
            {
                "tenant": plan.tenant_id,
                "plan": plan.pk,
                "item_ids": [fact.item_id for fact in facts],
                "references": [fact.reference for fact in facts],
                "payees": [fact.payee for fact in facts],
                "accounts": [fact.account for fact in facts],
                "amounts": [fact.amount for fact in facts],
                "currencies": [fact.currency for fact in facts],
                "money_versions": [fact.money_version for fact in facts],
            },
        )


def _store_exclusions(plan: Plan, left_out: list[LeftOut]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            read(_SQL / "insert_exclusions.sql"),
            {
                "tenant": plan.tenant_id,
                "plan": plan.pk,
                "item_ids": [one.item_id for one in left_out],
                "references": [one.reference for one in left_out],
                "amounts": [one.amount for one in left_out],
                "currencies": [one.currency for one in left_out],
                "codes": [one.code for one in left_out],
                "words": [one.words for one in left_out],
            },
        )
