"""The order of the disputes queue."""

from __future__ import annotations

from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from queues import Age, Flag, InReference, Ramp, ScoreRule, register

_AGE = Age(
    "opened_at",
    stands_still=Q(waiting_since__isnull=False),
    still_text=_("its age does not count while it waits for the customer"),
)


class NextUrgency(ScoreRule):
    """What we try out: evidence weighs less, and age counts up to three weeks."""

    name = "dispute.urgency-score"
    title = _("urgency")
    version = 4
    owner = "supervisor"
    citation = _("Operations Handbook, 4.2, draft of the next edition")
    inputs = (
        Ramp("amount", InReference("amount"), full_at=2_000, points=40),
        Ramp("age", _AGE, full_at=21, points=50),
        Flag("evidence", Q(evidence_received_at__isnull=True), points=10, text=_("evidence missing")),
    )


@register
class DisputeUrgency(ScoreRule):
    """What hurts the customer most comes first."""

    name = "dispute.urgency-score"
    title = _("urgency")
    version = 3
    owner = "supervisor"
    candidate = NextUrgency
    citation = _("Operations Handbook, 4.2: the order of disputes")
    inputs = (
        Ramp("amount", InReference("amount"), full_at=2_000, points=40),
        Ramp("age", _AGE, full_at=10, points=40),
        Flag("evidence", Q(evidence_received_at__isnull=True), points=20, text=_("evidence missing")),
    )
