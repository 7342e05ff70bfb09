"""The payouts queue: staff look at each payout before finance may release it."""

from __future__ import annotations

from datetime import timedelta

from django.utils.translation import gettext_lazy as _

from queues import Action, Advisory, Claim, Queue, Reason, Within, acting, register
from queues.models import Payout


@register
class Payouts(Queue):
    """Two people who clear one payout would pay it twice: a claim is required."""

    name = "payouts"
    title = _("Payouts")
    model = Payout
    score = "payout.release-risk-score"
    claim = Claim.required(lease=timedelta(hours=1), max_held=5)
    due = (Within("check", hours=16, title=_("check"), stops=_("the decision")),)
    freshness = Advisory(_("Payouts are as recent as the last file that was loaded."))
    columns = ("reference", "beneficiary", "amount", "opened_at")
    filters = ("state", "currency")
    search = ("reference", "beneficiary")
    party = "beneficiary"
    same = ("account",)
    sensitive = ("account",)
    twins = ("account", "amount", "currency")
    actions = (
        Action("approve", _("Approve"), acting.approve_payout),
        Action("hold", _("Hold"), acting.hold_payout, reason=Reason.REQUIRED),
        Action("return", _("Return"), acting.return_payout, reason=Reason.REQUIRED, danger=True),
        Action("resume", _("Resume"), acting.resume_payout, reason=Reason.OPTIONAL, states=("held",)),
    )
