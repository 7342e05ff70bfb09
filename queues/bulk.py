"""Do one thing to many items: assign, snooze or release them, each by its own command.

Every item has its own transaction, its own key and its own answer: one that is refused never stops the
others, and the answers add up to what was chosen. What needs more than one's own hold is a supervisor's.
"""

from __future__ import annotations

from collections import Counter
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
    """What is to be done: "assign" to people with a note, "snooze" until a time or "release", with a reason.

    Several people are given items in turn: each time the one who holds the fewest and has room for more.
    """

    act: str
    to: tuple[int, ...] = ()
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
    turn = _Turn(queue, wish.to)
    for item in items:
        try:
            _one(actor, actor.user, queue, item, wish, turn, f"bulk:{key[:150]}:{item.pk}")
        except Refusal as refusal:
            answers.append(Answer(item, str(refusal.message)))
        else:
            answers.append(Answer(item, ""))
    return answers


def _one(actor: Actor, person: User, queue: Queue, item: QueueItem, wish: Wish, turn: _Turn, key: str) -> None:
    held = item.lease_until is not None and item.held_at(claiming.database_now())
    mine = held and item.claim_holder_id == person.pk
    if wish.act == "assign":
        turn.give(actor, item, wish.reason, key)
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


class _Turn:
    """Whose turn it is among the chosen people. The command guards each cap; who is full leaves the turn."""

    def __init__(self, queue: Queue, people: Sequence[int]) -> None:
        self.queue = queue
        now = claiming.database_now()
        live = queue.model.objects.filter(claim_holder__in=list(people), lease_until__gt=now)
        counts = Counter(live.values_list("claim_holder", flat=True))
        self.held = {person: counts[person] for person in people}

    def give(self, actor: Actor, item: QueueItem, note: str, key: str) -> None:
        """Assign the item to the next person who has room; raise the last refusal where nobody has."""
        if not self.held:
            raise Refusal("nobody-left", _("Everybody chosen holds the most allowed here."))
        person = min(self.held, key=lambda one: self.held[one])  # the first of equals, in the order chosen
        try:
            handing.assign(
                actor=actor, queue=self.queue.name, item_id=item.pk, to=person, note=note, key=f"{key}:{person}"
            )
        except Refusal as refusal:
            if refusal.code != "cap-reached" or len(self.held) == 1:
                raise
            del self.held[person]
            self.give(actor, item, note, key)
        else:
            self.held[person] += 1
