"""Release one payout: the command of the release action, once per line, in its own transaction."""

from __future__ import annotations

from pathlib import Path

from django.db import connection
from django.utils.translation import gettext as _

from backoffice.commands import Actor, Outcome, command
from backoffice.errors import Refusal
from backoffice.sql import read
from backoffice.tenants import scope

_RELEASE = Path(__file__).parent / "sql" / "release_payout.sql"


@command("payout.release", systems=("plan",))
def release_payout(
    *, actor: Actor, item_id: int, plan_id: int, line_id: int, confirmers: list[int], reference: str = ""
) -> Outcome:
    """Pay the payout that the plan claimed, exactly as its line says: line, payout and ledger, or none of them."""
    with connection.cursor() as cursor:
        cursor.execute(
            read(_RELEASE),
            {
                "tenant": scope.current().pk,
                "plan": plan_id,
                "line": line_id,
                "item": item_id,
                "reference": reference[:100],
            },
        )
        row = cursor.fetchone()
    if row is None:
        raise Refusal("line-elsewhere", _("This line is no longer waiting for that."))
    amount, currency, paid, entries = row
    if not paid:
        raise Refusal("changed", _("The payout is not what was confirmed any more."))
    if entries != 2:
        raise LookupError(f"the ledger lacks an account in {currency}")
    return Outcome(target=f"payout:{item_id}", data={"amount": str(amount), "currency": currency})
