"""The challenges of scores: whoever owns a rule answers them, the oldest first."""

from __future__ import annotations

from datetime import timedelta

from django.utils.translation import gettext_lazy as _

from queues import Action, Advisory, Claim, Queue, Reason, Within, challenging, register
from queues.models import ScoreChallenge


@register
class ScoreChallenges(Queue):
    """Two answers to one challenge do no harm that the version does not stop: a claim is optional."""

    name = "score-challenges"
    title = _("Score challenges")
    model = ScoreChallenge
    claim = Claim.optional(lease=timedelta(hours=1), max_held=5)
    due = (Within("answer", hours=16, title=_("answer"), stops=_("the answer of the rule's owner")),)
    freshness = Advisory(_("Challenges stand here at once."))
    columns = ("reference", "rule", "input", "why", "opened_at")
    filters = ("state", "rule", "input")
    search = ("reference", "why")
    actions = (
        Action("accept", _("Accept"), challenging.accept_challenge, reason=Reason.REQUIRED),
        Action("reject", _("Reject"), challenging.reject_challenge, reason=Reason.REQUIRED, danger=True),
    )
