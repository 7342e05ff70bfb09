"""The disputes queue."""

from __future__ import annotations

from datetime import timedelta

from django.utils.translation import gettext_lazy as _

from queues import Action, Advisory, Claim, Queue, Reason, acting, evidence, register
from queues.models import Dispute


@register
class Disputes(Queue):
    """Two answers to one customer would contradict each other: a claim is required."""

    name = "disputes"
    title = _("Disputes")
    model = Dispute
    score = "dispute.urgency-score"
    claim = Claim.required(lease=timedelta(hours=1), max_held=5)
    freshness = Advisory(_("Disputes are as recent as the last delivery."))
    columns = ("reference", "customer", "amount", "opened_at")
    filters = ("state", "reason", "currency")
    search = ("reference", "customer")
    party = "customer"
    twins = ("customer", "amount", "currency")
    actions = (
        Action("resolve", _("Resolve"), acting.resolve_dispute, reason=Reason.OPTIONAL),
        Action("refuse", _("Refuse"), acting.refuse_dispute, reason=Reason.REQUIRED, danger=True),
        Action("evidence", _("Evidence received"), evidence.evidence_received, states=("open",)),
    )
