"""Do one thing to many items: assign, snooze or release them, each by its own command.

Every item has its own transaction, its own key and its own answer: one that is refused never stops the
others, and the answers add up to what was chosen. What needs more than one's own hold is a supervisor's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from backoffice.commands import Actor
from backoffice.errors import NotPermitted, Refusal
from backoffice.tenants.models import User
from queues import claiming, handing, listing, setting_aside
from queues.base import Queue
from queues.models import QueueItem
from queues.models.item import list_order

MOST = 1_000


@dataclass(frozen=True)
class Wish:
    """What is to be done: "assign" to a person with a note, "snooze" until a time or "release", with a reason."""

    act: str
    to: int = 0
    until: datetime | None = None
    reason: str = ""


@dataclass(frozen=True)
class Answer:
    """What came of one item: nothing in `refused` where it was done."""

    item: QueueItem
    refused: str


def choose(
    *, queue: Queue, filters: Mapping[str, str], person: User, ids: Sequence[int], everything: bool
) -> list[QueueItem]:
    """Return the chosen items of the open tenant in list order: these, or everything that the filters let through."""
    if everything:
        rows = listing.matching(queue=queue, filters=filters, person=person)
    else:
        rows = queue.model.objects.filter(pk__in=ids)
    found = list(rows.order_by(*list_order())[: MOST + 1])
    if not found:
        raise Refusal("nothing-chosen", _("Choose items first: none of those chosen is here."))
    if len(found) > MOST:
        raise Refusal(
            "too-many", _("More than %(most)d items match. Narrow the filters, or choose fewer.") % {"most": MOST}
        )
    return found


def run(*, actor: Actor, queue: Queue, items: Sequence[QueueItem], wish: Wish, key: str) -> list[Answer]:
    """Do it to each item in turn; return one answer an item, in the order given."""
    if actor.user is None:
        raise NotPermitted("not-permitted", _("A person does this."))
    answers = []
    for item in items:
        try:
            _one(actor, actor.user, queue, item, wish, f"bulk:{key[:150]}:{item.pk}")
        except Refusal as refusal:
            answers.append(Answer(item, str(refusal.message)))
        else:
            answers.append(Answer(item, ""))
    return answers


def _one(actor: Actor, person: User, queue: Queue, item: QueueItem, wish: Wish, key: str) -> None:
    held = item.lease_until is not None and item.held_at(claiming.database_now())
    mine = held and item.claim_holder_id == person.pk
    if wish.act == "assign":
        handing.assign(actor=actor, queue=queue.name, item_id=item.pk, to=wish.to, note=wish.reason, key=key)
    elif wish.act == "snooze" and wish.until is not None:
        seen = (item.claim_token, None) if mine else (None, item.version)
        setting_aside.snooze(
            actor=actor,
            queue=queue.name,
            item_id=item.pk,
            token=seen[0],
            version=seen[1],
            until=wish.until,
            reason=wish.reason,
            key=key,
        )
    elif wish.act == "release" and held and not mine:
        handing.free(
            actor=actor, queue=queue.name, item_id=item.pk, token=item.claim_token, reason=wish.reason, key=key
        )
    elif wish.act == "release" and mine:
        claiming.release(actor=actor, queue=queue.name, item_id=item.pk, token=item.claim_token, key=key)
    elif wish.act == "release":
        raise Refusal("not-held", _("Nobody holds it."))
    else:
        raise Refusal("unknown-act", _("Choose what to do."))
