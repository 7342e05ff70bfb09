"""Whether one person may confirm a plan alone, or two have to."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

from django.db import connection

from backoffice.sql import read
from backoffice.tenants import scope
from backoffice.tenants.models import Membership, User
from queues.money.base import MoneyAction
from queues.money.models import Plan

_RELEASED = Path(__file__).parent / "sql" / "released_lately.sql"


def lock_people(*, people: set[int]) -> None:
    """Lock the people's memberships, so that two plans of one person are weighed one after the other."""
    list(Membership.objects.select_for_update().filter(user_id__in=people).order_by("pk").values_list("pk"))


def over_threshold(*, action: MoneyAction, plan: Plan, person: User) -> dict[str, Decimal]:
    """Return the sums, per currency, that need two people: the plan's, with what they released in 24 hours."""
    lately = released_lately(action=action, plan=plan, people={person.pk, plan.requested_by_id})
    over = {}
    for row in plan.totals:
        currency = row["currency"]
        above = action.limits[currency].four_eyes_above if currency in action.limits else Decimal(0)
        total = Decimal(row["total"]) + lately.get(currency, Decimal(0))
        if above is not None and total > above:
            over[currency] = total
    return over


def released_lately(*, action: MoneyAction, plan: Plan, people: set[int]) -> dict[str, Decimal]:
    """Return what these people confirmed or requested, and was started, in the 24 hours before now."""
    bound: dict[str, Any] = {
        "tenant": scope.current().pk,
        "action": action.name,
        "plan": plan.pk,
        "people": list(people),
    }
    with connection.cursor() as cursor:
        cursor.execute(read(_RELEASED), bound)
        return dict(cursor.fetchall())
