"""The disputes queue."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from queues import Action, Advisory, Claim, Queue, Reason, Within, acting, answering, evidence, register
from queues.models import Dispute

_WAITING = Q(waiting_since__isnull=False)
_WAITS = _("while it waits for the customer")


@register
class Disputes(Queue):
    """Two answers to one customer would contradict each other: a claim is required."""

    name = "disputes"
    title = _("Disputes")
    model = Dispute
    score = "dispute.urgency-score"
    claim = Claim.required(lease=timedelta(hours=1), max_held=5)
    due = (
        Within(
            "first response",
            hours=4,
            after="opened_at",
            until="first_answered_at",
            title=_("first response"),
            stops=_("the first answer to the customer"),
        ),
        Within(
            "update",
            hours=8,
            after="owed_since",
            paused=_WAITING,
            title=_("update"),
            stops=_("an answer to the customer, which starts it anew, or the decision"),
            pauses=_WAITS,
        ),
        Within(
            "resolution",
            hours=40,
            after="opened_at",
            paused=_WAITING,
            waits="waits",
            title=_("resolution"),
            stops=_("the decision"),
            pauses=_WAITS,
        ),
    )
    freshness = Advisory(_("Disputes are as recent as the last delivery."))
    columns = ("reference", "customer", "amount", "opened_at")
    filters = ("state", "reason", "currency")
    search = ("reference", "customer")
    party = "customer"
    twins = ("customer", "amount", "currency")
    actions = (
        Action("resolve", _("Resolve"), acting.resolve_dispute, reason=Reason.OPTIONAL),
        Action("refuse", _("Refuse"), acting.refuse_dispute, reason=Reason.REQUIRED, danger=True),
        Action("answer", _("Answered, we go on"), answering.answer, decides=False),
        Action("wait", _("Answered, the customer must act"), answering.answer_and_wait, decides=False),
        Action("customer-wrote", _("The customer wrote"), answering.customer_wrote, states=("open",), decides=False),
        Action(
            "evidence",
            _("Evidence received"),
            evidence.evidence_received,
            states=("open",),
            applies=evidence.is_missing,
            decides=False,
        ),
    )
