"""Evidence that arrives for a dispute: it changes an input of the score, so the item is scored with it."""

from __future__ import annotations

from django.db.models import F
from django.utils.translation import gettext as _

from backoffice.commands import Actor, Outcome, command
from backoffice.errors import Refusal
from queues import claiming, scoring
from queues.base import queue_for
from queues.models import Dispute
from queues.models.item import open_items


@command("dispute.evidence-received", permission="queues.work_dispute", target="dispute:{item_id}")
def evidence_received(*, actor: Actor, item_id: int, token: int | None = None, version: int | None = None) -> Outcome:
    """Note that the evidence is here and score the dispute again, in one transaction.

    It is a fact and no decision: whoever holds the dispute keeps it.
    """
    now = claiming.database_now()
    waiting = Dispute.objects.filter(open_items(Dispute), pk=item_id, evidence_received_at__isnull=True)
    if waiting.filter(version=version).update(evidence_received_at=now, version=F("version") + 1) != 1:
        raise Refusal("changed", _("The evidence is noted already, or this dispute changed. Reload the page."))
    scoring.score_range(queue_for(Dispute), first=item_id, last=item_id, now=now)
    score = Dispute.objects.values_list("score", flat=True).get(pk=item_id)
    return Outcome(target=f"dispute:{item_id}", data={"score": score})


def is_missing(item: Dispute) -> bool:
    """Say whether evidence can still arrive for this dispute."""
    return item.evidence_received_at is None
