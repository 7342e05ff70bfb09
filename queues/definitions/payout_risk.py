"""The order of the payouts queue."""

from __future__ import annotations

from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from queues import Age, Flag, InReference, Ramp, ScoreRule, register


@register
class PayoutRisk(ScoreRule):
    """What could lose the most, or has waited the longest, is looked at first."""

    name = "payout.release-risk-score"
    title = _("risk")
    version = 2
    owner = "supervisor"
    citation = _("Payments Handbook, 3.1: the order of release checks")
    inputs = (
        Ramp("amount", InReference("amount"), full_at=23_000, points=60),
        Ramp("age", Age("opened_at"), full_at=30, points=30),
        Flag("date", Q(date_missing=True), points=10, text=_("no date given")),
    )
