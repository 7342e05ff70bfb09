"""The account reviews queue: nothing scores it, so the oldest comes first."""

from __future__ import annotations

from datetime import timedelta

from django.utils.translation import gettext_lazy as _

from queues import Action, Advisory, Claim, Queue, Reason, Within, acting, register
from queues.models import AccountReview


@register
class Reviews(Queue):
    """A review is quick and changes no money: a person may hold one, and may decide a free one at once."""

    name = "reviews"
    title = _("Account reviews")
    model = AccountReview
    claim = Claim.optional(lease=timedelta(hours=1), max_held=5)
    due = (Within("review", hours=24, title=_("review"), stops=_("the decision")),)
    freshness = Advisory(_("Reviews are as recent as the last delivery."))
    columns = ("reference", "holder", "country", "opened_at")
    filters = ("state", "country")
    search = ("reference", "holder")
    party = "holder"
    actions = (
        Action("clear", _("Clear"), acting.clear_review, reason=Reason.OPTIONAL),
        Action("escalate", _("Escalate"), acting.escalate_review, reason=Reason.REQUIRED, danger=True),
    )
