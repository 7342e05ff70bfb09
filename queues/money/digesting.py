"""The digest: what the code confirms. Equal lines give equal digests, anything else another."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from django.utils.translation import gettext as _

from backoffice import money
from backoffice.errors import Refusal
from queues.models import QueueItem
from queues.money.base import Line


@dataclass(frozen=True)
class Fact:
    """One line as it is frozen, shown and confirmed."""

    item_id: int
    reference: str
    payee: str
    account: str
    amount: Decimal
    currency: str
    money_version: int


def fact_of(item: QueueItem, line: Line) -> Fact:
    """Join an item and its line; refuse an amount that is not above zero or has more digits than its currency."""
    amount = money.exact(line.amount, line.currency)
    if amount <= 0:
        raise Refusal("not-positive", _("The amount is not above zero."))
    return Fact(
        item_id=item.pk,
        reference=item.reference,
        payee=line.payee,
        account=line.account,
        amount=amount,
        currency=line.currency,
        money_version=item.money_version,  # type: ignore[attr-defined]  # a check demands the field of the model
    )


def digest_of(*, action: str, facts: Iterable[Fact]) -> str:
    """Return the SHA-256 over the action and its lines in order: one JSON array a line, UTF-8."""
    total = hashlib.sha256(f"{action}\n".encode())
    for fact in facts:
        row = [
            fact.item_id,
            fact.reference,
            fact.payee,
            fact.account,
            f"{money.exact(fact.amount, fact.currency):f}",
            fact.currency,
            fact.money_version,
        ]
        total.update(json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode("utf-8") + b"\n")
    return total.hexdigest()
