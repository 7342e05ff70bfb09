"""The states of a line: each change is one conditional update whose row count is read.

`planned → done | refused | not_started` over our ledger; `planned → sending → done | refused | unknown`
over another rail; a person moves `unknown` to done or refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db import connection
from django.db.models import Count, F, Sum
from django.utils.translation import gettext as _

from backoffice.errors import Refusal
from backoffice.tenants import scope
from queues.money.base import MoneyAction
from queues.money.models import PlanLine

State = PlanLine.State

_SETTLE = """
UPDATE money_planline
   SET state = %(state)s, code = %(code)s, words = %(words)s, rail_reference = %(reference)s,
       settled_at = CASE WHEN %(state)s IN ('sending', 'unknown') THEN NULL ELSE clock_timestamp() END
 WHERE id = %(line)s AND plan_id = %(plan)s AND tenant_id = %(tenant)s AND state = ANY(%(before)s)
RETURNING id, plan_id, position, item_id, reference, payee, account, amount, currency, money_version, state
"""
_FIELDS = (
    "id", "plan_id", "position", "item_id", "reference", "payee", "account", "amount", "currency", "money_version",
    "state",
)  # fmt: skip


@dataclass(frozen=True)
class Tally:
    """One state's lines in one currency."""

    state: str
    currency: str
    count: int
    total: Decimal


def settle(
    *,
    plan_id: int,
    line_id: int,
    state: State,
    before: tuple[State, ...],
    code: str = "",
    words: str = "",
    reference: str = "",
) -> PlanLine:
    """Move the line to the state, from one of those before, and return it; refuse when it is elsewhere."""
    with connection.cursor() as cursor:
        cursor.execute(
            _SETTLE,
            {
                "tenant": scope.current().pk,
                "plan": plan_id,
                "line": line_id,
                "state": state.value,
                "before": [one.value for one in before],
                "code": code[:60],
                "words": words[:300],
                "reference": reference[:100],
            },
        )
        row = cursor.fetchone()
    if row is None:
        raise Refusal("line-elsewhere", _("This line is no longer waiting for that."))
    return PlanLine(**dict(zip(_FIELDS, row, strict=True)))


def tallies(*, plan_id: int) -> list[Tally]:
    """Return count and sum of the plan's lines per state and currency."""
    rows = (
        PlanLine.objects.filter(plan_id=plan_id)
        .order_by("currency", "state")
        .values("state", "currency")
        .annotate(count=Count("pk"), total=Sum("amount"))
    )
    return [Tally(**row) for row in rows]


def free_items(*, action: MoneyAction, plan_id: int, item_ids: list[int]) -> int:
    """Let go of these items of the plan, which it did not pay, and return how many there were."""
    rows: Any = action.model.objects.filter(plan_id=plan_id, pk__in=item_ids)
    return int(rows.update(plan_id=None, version=F("version") + 1))
