"""Rails: where released money goes.

The ledger is in our own database, so its effect commits with the line. Any other rail is called
outside a transaction, between two commits, and can be asked by key what became of a call.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

from backoffice.registry import Definition, Registry


class Result(enum.Enum):
    """What a rail says of one key. Anything but a clear yes or no is UNKNOWN."""

    DONE = "done"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Answer:
    """A rail's answer: its own reference, and for a refusal a code and words for people."""

    result: Result
    reference: str = ""
    code: str = ""
    words: str = ""


@dataclass(frozen=True)
class Order:
    """What a rail is told to pay."""

    payee: str
    account: str
    amount: Decimal
    currency: str
    reference: str


class Rail(Definition):
    """Carry money. `send` twice under one key must pay once at most; `ask` never pays."""

    in_database: ClassVar[bool] = False

    def send(self, key: str, order: Order) -> Answer:
        """Pay, once under this key. Called outside a transaction; an exception means the result is unknown."""
        raise NotImplementedError

    def ask(self, key: str) -> Answer:
        """Say what became of this key. A key the rail does not know is UNKNOWN: it may still arrive."""
        raise NotImplementedError

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, "in_database": self.in_database}


rails: Registry[Rail] = Registry("rail")
register = rails.register


@register
class LedgerRail(Rail):
    """Our own ledger: the line's command posts to it, in the line's own transaction."""

    name = "ledger"
    in_database = True
