"""Payouts and plans for tests."""

from __future__ import annotations

from decimal import Decimal
from itertools import count
from typing import Any

from backoffice import clock, commands
from backoffice.commands import Actor
from backoffice.tenants import scope
from backoffice.tenants.models import User
from queues.models import Payout
from queues.money.models import Plan
from queues.money.planning import create_plan

_numbers = count(1)


def make_payout(amount: str | Decimal = "100.00", currency: str = "EUR", **more: Any) -> Payout:
    """Make an approved payout in the open tenant."""
    return make_payouts(1, amount=amount, currency=currency, **more)[0]


def make_payouts(number: int, amount: str | Decimal = "100.00", currency: str = "EUR", **more: Any) -> list[Payout]:
    """Make approved payouts in the open tenant, in one statement."""
    wanted = {"state": Payout.State.APPROVED, "opened_at": clock.now(), "account": "GB00 TEST", **more}
    made = Payout.objects.bulk_create(
        [
            Payout(
                tenant=scope.current(),
                amount=Decimal(amount),
                currency=currency,
                **{"reference": f"P-{n}", "beneficiary": f"Payee {n}", **wanted},
            )
            for n in (next(_numbers) for _ in range(number))
        ]
    )
    return list(Payout.objects.filter(pk__in=[one.pk for one in made]).order_by("pk"))


def make_plan(person: User, payouts: list[Payout]) -> Plan:
    """Plan the release of these payouts."""
    outcome = commands.dispatch(
        create_plan,
        actor=Actor.person(person),
        key=f"plan-{next(_numbers)}",
        action="payout.release",
        item_ids=[payout.pk for payout in payouts],
    )
    return Plan.objects.get(pk=outcome.data["plan_id"])
