"""The double-entry ledger of the open tenant: its accounts and its sums. `sql/release_payout.sql` posts to it.

A trigger refuses entries that do not sum to zero per transfer and currency; transfers and entries
are never changed or deleted; a key moves money once.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from django.db.models import Count, Sum

from backoffice.tenants import scope
from queues.money.models import Account, Entry


def open_accounts(*, currencies: Iterable[str]) -> None:
    """Make the accounts that a release in these currencies moves between, where they are missing."""
    Account.objects.bulk_create(
        [
            Account(tenant=scope.current(), code=code, currency=currency)
            for currency in sorted(set(currencies))
            for code in (Account.Code.CASH, Account.Code.PAYABLES)
        ],
        ignore_conflicts=True,
    )


def balance(*, code: Account.Code, currency: str) -> Decimal:
    """Return an account's sum: debits less credits."""
    rows = Entry.objects.filter(account__code=code, account__currency=currency)
    return rows.aggregate(total=Sum("amount"))["total"] or Decimal(0)


def released(*, plan_id: int) -> dict[str, tuple[int, Decimal]]:
    """Return, per currency, how many transfers the plan made and their sum."""
    rows = (
        Entry.objects.filter(transfer__line__plan_id=plan_id, amount__gt=0)
        .values("account__currency")
        .annotate(number=Count("pk"), total=Sum("amount"))
    )
    return {row["account__currency"]: (row["number"], row["total"]) for row in rows}
