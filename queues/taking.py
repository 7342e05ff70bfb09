"""Claim the next item within the filters of the list that a person works from."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.translation import gettext as _

from backoffice.commands import Actor
from backoffice.commands.models import Receipt
from backoffice.errors import KeyReused, Refusal
from queues import claiming, listing
from queues.base import Queue

CANDIDATES = 20
_TAKEN_MEANWHILE = {"held", "decided", "gone"}


def take_next(*, actor: Actor, queue: Queue, filters: Mapping[str, str], key: str) -> int:
    """Hold the first free item that the filters let through; return its id, or raise Refusal in words.

    Every candidate is tried under the same key, and only success leaves a receipt: a repeat of the
    request finds the item that it took the first time.
    """
    if not filters:
        return int(claiming.claim_next(actor=actor, queue=queue.name, key=key).data["item_id"])
    free = listing.page(queue=queue, filters={**filters, "claim": "free"}, person=actor.user, size=CANDIDATES).items
    for item in free:
        try:
            return int(claiming.claim(actor=actor, queue=queue.name, item_id=item.pk, key=key).data["item_id"])
        except KeyReused:
            return _taken_before(actor, key)
        except Refusal as refusal:
            if refusal.code not in _TAKEN_MEANWHILE:
                raise
    raise Refusal("nothing-free", _("Nothing that matches these filters is free now."))


def _taken_before(actor: Actor, key: str) -> int:
    receipt = Receipt.objects.get(command="item.claim", key=key)
    if receipt.actor != actor.identity or not receipt.outcome:
        raise KeyReused("key-reused", _("This request was already used for something else. Reload the page."))
    return int(receipt.outcome["data"]["item_id"])
