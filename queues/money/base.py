"""What a team declares for a bulk money action."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

from django.core.checks import CheckMessage, Error
from django.core.exceptions import FieldDoesNotExist
from django.utils.functional import Promise

from backoffice import money
from backoffice.commands import Command
from backoffice.registry import Definition, Registry
from queues.models import QueueItem
from queues.money import rails

CONFIRMATIONS = ("totp",)
MOST_ITEMS = 10_000  # one form, one page and one job still carry them
_NEEDED = ("reference", "money_version", "plan_id", "claim_holder", "lease_until")


@dataclass(frozen=True)
class Line:
    """One row of the preview: who gets how much, where."""

    payee: str
    amount: Decimal
    currency: str
    account: str = ""


@dataclass(frozen=True)
class Limit:
    """A currency's bounds: the most one plan may total, and above which sum two people confirm.

    `four_eyes_above` counts what the same person released in the 24 hours before; None never asks.
    """

    total: int | Decimal
    four_eyes_above: int | Decimal | None = None


class MoneyAction(Definition):
    """Move money for many items at once: previewed, confirmed out of band, one command per line.

    `command` runs per line with `item_id, plan_id, line_id, confirmers`, as the system "plan". Its body
    settles the line, the item and the transfer together (see `releasing`). A currency without a limit is
    not payable in bulk.
    """

    title: ClassVar[str | Promise] = ""
    model: ClassVar[type[QueueItem]]
    command: ClassVar[Command]
    confirm_by: ClassVar[str] = ""
    max_items: ClassVar[int] = 0
    limits: ClassVar[dict[str, Limit]] = {}
    rail: ClassVar[str] = "ledger"
    plan_permission: ClassVar[str] = "money.plan_release"
    confirm_permission: ClassVar[str] = "money.confirm_release"

    def line(self, item: Any, /) -> Line:
        """Return the item's row of the preview, or raise the Refusal that excludes it."""
        raise NotImplementedError

    def describe(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "model": self.model._meta.label,
            "command": self.command.name,
            "confirm_by": self.confirm_by,
            "max_items": self.max_items,
            "rail": self.rail,
            "limits": {
                currency: {
                    "total": str(limit.total),
                    "four_eyes_above": None if limit.four_eyes_above is None else str(limit.four_eyes_above),
                }
                for currency, limit in self.limits.items()
            },
        }

    def _check_name(self) -> list[CheckMessage]:
        return (
            []
            if re.fullmatch(r"[a-z]+\.[a-z-]+", self.name)
            else [_error(self, "E001", "name is like 'payout.release'.")]
        )

    def _check_title(self) -> list[CheckMessage]:
        return [] if self.title else [_error(self, "E002", "title is missing.")]

    def _check_model(self) -> list[CheckMessage]:
        model = getattr(self, "model", None)
        if not (isinstance(model, type) and issubclass(model, QueueItem)):
            return [_error(self, "E003", "model is not a QueueItem.")]
        missing = [name for name in _NEEDED if not _has_field(model, name)]
        return [_error(self, "E003", f"{model.__name__} has no field {name!r}.") for name in missing]

    def _check_command(self) -> list[CheckMessage]:
        command = getattr(self, "command", None)
        if not isinstance(command, Command):
            return [_error(self, "E004", "command is not a registered command.")]
        if "plan" not in command.systems or command.permission is not None:
            words = f"command {command.name!r} runs for the system 'plan' only, never for a person."
            return [_error(self, "E004", words)]
        return []

    def _check_confirm_by(self) -> list[CheckMessage]:
        if self.confirm_by in CONFIRMATIONS:
            return []
        return [_error(self, "E005", f"confirm_by is one of: {', '.join(CONFIRMATIONS)}.")]

    def _check_max_items(self) -> list[CheckMessage]:
        if 1 <= self.max_items <= MOST_ITEMS:
            return []
        return [_error(self, "E006", f"max_items lies between 1 and {MOST_ITEMS:,}.")]

    def _check_limits(self) -> list[CheckMessage]:
        if not self.limits:
            return [_error(self, "E007", "limits are missing: no currency would be payable.")]
        unknown = sorted(set(self.limits) - money.CURRENCIES)
        return [_error(self, "E007", f"limits name {currency!r}, which is no currency.") for currency in unknown]

    def _check_limit_sums(self) -> list[CheckMessage]:
        return [
            _error(self, "E008", f"the limit of {currency} needs a total above 0, and no four_eyes_above below 0.")
            for currency, limit in sorted(self.limits.items())
            if limit.total <= 0 or (limit.four_eyes_above is not None and limit.four_eyes_above < 0)
        ]

    def _check_rail(self) -> list[CheckMessage]:
        return [] if self.rail in rails.rails else [_error(self, "E009", f"rail {self.rail!r} is not registered.")]


def _has_field(model: type[QueueItem], name: str) -> bool:
    try:
        model._meta.get_field(name)
    except FieldDoesNotExist:
        return False
    return True


def _error(action: MoneyAction, number: str, words: str) -> CheckMessage:
    return Error(f"Money action {action.name!r}: {words}", obj=action, id=f"money.{number}")


actions: Registry[MoneyAction] = Registry("money action")
register = actions.register
