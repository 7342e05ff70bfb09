"""The order of the payouts queue."""

from __future__ import annotations

from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from queues import Age, Flag, Money, Ramp, ScoreRule, register


@register
class PayoutRisk(ScoreRule):
    """What could lose the most, or has waited the longest, is looked at first."""

    name = "payout.release-risk-score"
    title = _("risk")
    version = 1
    citation = _("Payments Handbook, 3.1: the order of release checks")
    inputs = (
        Ramp(
            "amount",
            Money("amount"),
            full_at={"GBP": 20_000, "EUR": 23_000, "USD": 25_000, "JPY": 4_000_000, "KWD": 7_700},
            points=60,
        ),
        Ramp("age", Age("opened_at"), full_at=30, points=30),
        Flag("date", Q(date_missing=True), points=10, text=_("no date given")),
    )
