"""Release one payout: the command of the release action, once per line, in its own transaction."""

from __future__ import annotations

from django.db.models import F
from django.utils.translation import gettext as _

from backoffice.commands import Actor, Outcome, command
from backoffice.errors import Refusal
from queues.models import Payout
from queues.money import ledger, lines


@command("payout.release", systems=("plan",))
def release_payout(
    *, actor: Actor, item_id: int, plan_id: int, line_id: int, confirmers: list[int], reference: str = ""
) -> Outcome:
    """Pay the payout that the plan claimed, exactly as its line says: line, payout and ledger in one transaction."""
    line = lines.done(plan_id=plan_id, line_id=line_id, reference=reference)
    paid = Payout.objects.filter(
        pk=item_id,
        plan_id=plan_id,
        state=Payout.State.APPROVED,
        money_version=line.money_version,
        amount=line.amount,
        currency=line.currency,
    ).update(state=Payout.State.PAID, version=F("version") + 1)
    if not paid or line.item_id != item_id:
        raise Refusal("changed", _("The payout is not what was confirmed any more."))
    ledger.post(line=line)
    return Outcome(
        target=f"payout:{item_id}", data={"amount": str(line.amount), "currency": line.currency, "key": line.key}
    )
