"""Give a held item to somebody else: by its holder with a note, by a supervisor with a reason.

Who receives an item must be a member who may work in the queue, and their cap is respected: their
membership row is locked first, as in claiming. Every hand is a new hold with a new token, so what the
old holder still has open can decide nothing. The history names who gave, who had it and who has it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from backoffice import commands
from backoffice.audit.models import AuditEvent
from backoffice.commands import Actor, Outcome, command
from backoffice.errors import Refusal
from backoffice.tenants import roles
from backoffice.tenants.models import Membership, User
from queues import claiming, setting_aside, wording
from queues.base import Queue
from queues.models import QueueItem

MAX_NOTE = 1_000
HANDS = ("item.hand-over", "item.move", "item.assign", "item.share")
MOST = 200  # people offered in one choice


def hand_over(*, actor: Actor, queue: str, item_id: int, token: int, to: int, note: str, key: str) -> Outcome:
    """Give one's own held item to a named person, with a note."""
    wanted: dict[str, Any] = {"item_id": item_id, "token": token, "to": to, "note": note}
    return commands.dispatch(hand_over_item, actor=actor, key=key, queue=queue, **wanted)


def move(*, actor: Actor, queue: str, item_id: int, token: int, to: int, reason: str, key: str) -> Outcome:
    """Move an item to a person, whoever holds it under the token that was seen; a supervisor's act."""
    wanted: dict[str, Any] = {"item_id": item_id, "token": token, "to": to, "reason": reason}
    return commands.dispatch(move_item, actor=actor, key=key, queue=queue, **wanted)


def assign(*, actor: Actor, queue: str, item_id: int, to: int, note: str, key: str) -> Outcome:
    """Give an item that nobody holds to a person; a supervisor's act."""
    return commands.dispatch(assign_item, actor=actor, key=key, queue=queue, item_id=item_id, to=to, note=note)


def free(*, actor: Actor, queue: str, item_id: int, token: int, reason: str, key: str) -> Outcome:
    """End somebody's hold; a supervisor's act."""
    wanted: dict[str, Any] = {"item_id": item_id, "token": token, "reason": reason}
    return commands.dispatch(free_item, actor=actor, key=key, queue=queue, **wanted)


@command("item.hand-over", permission="queues.claim", target=claiming.target)
def hand_over_item(*, actor: Actor, queue: str, item_id: int, token: int, to: int, note: str) -> Outcome:
    """Give one's own live hold to somebody else."""
    listed, person = claiming.may_claim(actor, queue)
    text = note_kept(note)
    if to == person.pk:
        raise Refusal("own-item", _("You hold this item already."))
    row = _hand(listed, person, item_id, to, under="mine", token=token)
    if row is None:
        claiming.refuse(listed, person, item_id, lost=True)
    return handed(listed, row, to, note=text)


@command("item.move", permission="queues.supervise", target=claiming.target)
def move_item(*, actor: Actor, queue: str, item_id: int, token: int, to: int, reason: str) -> Outcome:
    """Move an item from whoever holds it, with a reason."""
    listed, person = claiming.may_claim(actor, queue)
    text = setting_aside.reason_kept(reason)
    row = _hand(listed, person, item_id, to, under="seen", token=token)
    if row is None:
        raise _moved_on(listed, person, item_id)
    return handed(listed, row, to, reason=text)


@command("item.assign", permission="queues.supervise", target=claiming.target)
def assign_item(*, actor: Actor, queue: str, item_id: int, to: int, note: str) -> Outcome:
    """Give a free item to a person."""
    listed, person = claiming.may_claim(actor, queue)
    text = note_kept(note)
    row = _hand(listed, person, item_id, to, under="free", token=0)
    if row is None:
        claiming.refuse(listed, person, item_id)
    return handed(listed, row, to, note=text)


@command("item.free", permission="queues.supervise", target=claiming.target)
def free_item(*, actor: Actor, queue: str, item_id: int, token: int, reason: str) -> Outcome:
    """End somebody's hold, with a reason."""
    listed, person = claiming.may_claim(actor, queue)
    text = setting_aside.reason_kept(reason)
    row = claiming.run("free.sql", listed, person, item=item_id, token=token)
    if row is None:
        raise _moved_on(listed, person, item_id)
    return Outcome(
        target=claiming.target(queue=queue, item_id=item_id),
        data={"item_id": item_id, "from": row[1], "reason": text},
    )


def workers(listed: Queue) -> list[User]:
    """Return the active people of the open tenant who may work in the queue, by name."""
    return [member.user for member in _members(listed).order_by("user__name", "user__email")[:MOST]]


def in_order_of_joining(listed: Queue) -> list[User]:
    """Return the same people in the order of the rotation, which no change of a name turns."""
    return [member.user for member in _members(listed).order_by("pk")[:MOST]]


def _members(listed: Queue) -> QuerySet[Membership]:
    able = [name for name, granted in roles.ROLE_PERMISSIONS.items() if {listed.work, "queues.claim"} <= granted]
    return Membership.objects.filter(active=True, roles__overlap=able, user__is_active=True).select_related("user")


def handed_to(items: Iterable[QueueItem]) -> dict[str, tuple[str, str]]:
    """Say of held items who gave them to their holders and with which words: {target: (name, words)}."""
    held = {item.target: item for item in items}
    events = AuditEvent.objects.filter(target__in=list(held), act__in=HANDS, outcome=AuditEvent.Outcome.DONE)
    last: dict[str, AuditEvent] = {}
    for event in events.order_by("id") if held else ():
        if (event.data.get("result") or {}).get("token") == held[event.target].claim_token:
            last[event.target] = event
    names = {one.pk: str(one) for one in User.objects.filter(pk__in=[e.actor_user_id for e in last.values()])}
    return {
        target: (
            names.get(event.actor_user_id or 0, event.actor),
            str(event.data["result"].get("note") or event.data["result"].get("reason") or ""),
        )
        for target, event in last.items()
    }


def _hand(listed: Queue, person: User, item_id: int, to: int, *, under: str, token: int) -> tuple[Any, ...] | None:
    """Lock the receiver's cap, then give the item."""
    receiver = next((one for one in workers(listed) if one.pk == to), None)
    if receiver is None:
        raise Refusal("not-a-colleague", _("Choose a person who works in this queue."))
    claiming.lock_cap(listed, receiver, besides=item_id, reader=person)
    return claiming.run("hand.sql", listed, person, item=item_id, to=to, under=under, token=token)


def handed(listed: Queue, row: tuple[Any, ...], to: int, **words: str) -> Outcome:
    """Report a hand: the new hold, who had the item, who has it, and the words that went with it."""
    made = claiming.outcome(listed, row[:3])
    return Outcome(target=made.target, data={**made.data, "from": row[3], "to": to, **words})


def _moved_on(listed: Queue, person: User, item_id: int) -> Refusal:
    """Say why what the supervisor saw is not so any more."""
    item = listed.model.objects.select_related("claim_holder").filter(pk=item_id).first()
    if item is None or not item.is_open:
        return wording.why_not(item, now=claiming.database_now(), reader=person)
    return Refusal("changed", _("Who holds this item changed since you opened it. Reload the page and look again."))


def note_kept(text: str) -> str:
    """Return a note as it is kept: trimmed, within bounds."""
    kept = text.strip()
    if len(kept) > MAX_NOTE:
        raise Refusal("note-too-long", _("A note has at most %(max)d characters.") % {"max": MAX_NOTE})
    return kept
