"""Bulk money: preview, confirm out of band, release line by line.

The database is authoritative for all of it. A plan is frozen when it is made: its lines, their
order, its digest never change. Unconfirmed plans hold nothing; confirming claims every line's item.
Each line ends with at most one effect, under the key `plan:<id>:<position>`; what a rail did not
answer is `unknown` and goes to a person, never to a blind retry.
"""

from typing import TYPE_CHECKING

from backoffice.lazy import exports

if TYPE_CHECKING:
    from queues.money.base import Limit, Line, MoneyAction, actions, register
    from queues.money.models import Plan, PlanLine

__all__ = ["Limit", "Line", "MoneyAction", "Plan", "PlanLine", "actions", "register"]

__getattr__ = exports(
    __name__,
    {
        "Limit": "base",
        "Line": "base",
        "MoneyAction": "base",
        "actions": "base",
        "register": "base",
        "Plan": "models",
        "PlanLine": "models",
    },
)
