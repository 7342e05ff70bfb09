"""What the page of one item shows: the facts, the score explained, the timeline, the decisions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _

from backoffice.audit import recording
from backoffice.pages import new_key
from backoffice.tenants.models import User
from queues import due_words, handing, masking, relating, score_page, setting_aside, showing, undoing
from queues.base import Action, ClaimMode, Queue, Reason
from queues.models import QueueItem

TIMELINE = 40
_FORMS = ("skip", "snooze", "wake", "hand", "move", "undo", "reopen", "note")  # each with a key of its own


@dataclass(frozen=True)
class Decision:
    """One action's form. `blocked`: its button is off, since the person does not hold the item."""

    name: str
    title: str
    url: str
    key: str
    asks: bool
    needed: bool
    style: str
    blocked: bool
    typed: str
    refused: bool
    moves_on: bool


def context(
    *,
    queue: Queue,
    item: QueueItem,
    person: User,
    suffix: str,
    now: datetime,
    works: bool,
    refused: str = "",
    typed: str = "",
) -> dict[str, Any]:
    """Return everything the item's template shows. `refused` is the action whose form came back."""
    held = item.held_at(now)
    mine = held and item.claim_holder_id == person.pk
    mode = queue.claims.mode
    word, badge = showing.state(item)
    decisions = _decisions(queue, item, person, suffix, mine, held, refused, typed) if works else []
    events = list(recording.timeline(target=item.target)[: TIMELINE + 1])
    return {
        "queue": queue,
        "title": item.reference,
        "item": item,
        "suffix": suffix,
        "now": now,
        "works": works,
        "claims": mode is not ClaimMode.DISABLED,
        "claim_required": mode is ClaimMode.REQUIRED,
        "held": held,
        "mine": mine,
        "holder": str(item.claim_holder) if held else "",
        "lease_seconds": int(queue.claims.lease.total_seconds()),
        "next_key": new_key(),
        "state": word,
        "state_class": badge,
        "headline": showing.headline(item),
        "facts": masking.cells(queue, item, showing.fact_names(queue.model), person=person),
        "timeline": showing.timeline(queue, events[:TIMELINE]),
        "timeline_more": len(events) > TIMELINE,
        "decisions": decisions,
        "blocked": _blocked_words(queue, held) if any(one.blocked for one in decisions) else "",
        **due_words.panel(queue, item, now=now),
        **score_page.context(queue, item, person, now, works),
        **_beside(queue, item, person, now, works, mine, held),
    }


def _beside(
    queue: Queue, item: QueueItem, person: User, now: datetime, works: bool, mine: bool, held: bool
) -> dict[str, Any]:
    """Return what else can be done with the item, and what belongs to it."""
    claims = queue.claims.mode is not ClaimMode.DISABLED
    asleep = item.is_open and not held and item.snoozed_until is not None and item.snoozed_until > now
    free = queue.claims.mode is not ClaimMode.REQUIRED and not held
    supervises = works and claims and item.is_open and person.has_perm("queues.supervise")
    hands = works and mine
    people = handing.workers(queue) if hands or supervises else []
    return {
        "asleep": asleep,
        "aside_keys": {name: new_key() for name in _FORMS},
        "may_snooze": works and item.is_open and not asleep and (mine or free),
        "presets": setting_aside.presets(now=now),
        "colleagues": [one for one in people if one.pk != person.pk] if hands else [],
        "supervises": supervises,
        "movable_to": [one for one in people if not (held and one.pk == item.claim_holder_id)] if supervises else [],
        "undoable": undoing.undoable(queue, item, person, now=now) if works and _may_undo(queue, item) else None,
        "may_reopen": works and not item.is_open and not item.takes_effect and not queue.actions_for(item),
        "twins": relating.twins(queue=queue, item=item),
        "related": relating.related(queue=queue, item=item, person=person),
        "handed": handing.handed_to([item]).get(item.target) if held else None,
    }


def _decisions(
    queue: Queue, item: QueueItem, person: User, suffix: str, mine: bool, held: bool, refused: str, typed: str
) -> list[Decision]:
    offered = queue.actions_for(item, person)
    if refused and refused not in {action.name for action in offered}:
        offered = [*offered, queue.action(refused)]  # what was typed stays on the page
    return [
        Decision(
            name=action.name,
            title=str(action.title),
            url=reverse("item-action", args=[queue.name, item.pk, action.name]) + suffix,
            key=new_key(),
            asks=action.reason is not Reason.NONE,
            needed=action.reason is Reason.REQUIRED,
            style="button--danger" if action.danger else ("button--primary" if action is offered[0] else ""),
            blocked=not _may_decide(queue, action, item, mine, held),
            typed=typed if action.name == refused else "",
            refused=action.name == refused,
            moves_on=action.decides and not action.states and queue.claims.mode is not ClaimMode.DISABLED,
        )
        for action in offered
    ]


def _may_undo(queue: Queue, item: QueueItem) -> bool:
    """Say whether there can be something to undo: a decision, or what is noted on an open item."""
    return not item.is_open or any(not action.decides for action in queue.actions)


def _may_decide(queue: Queue, action: Action, item: QueueItem, mine: bool, held: bool) -> bool:
    """Say what the command will say, so that a button that cannot work looks so."""
    if action.states:
        return item.state in action.states
    if not item.is_open:
        return False
    if queue.claims.mode is ClaimMode.REQUIRED:
        return mine
    return mine or not held


def _blocked_words(queue: Queue, held: bool) -> str:
    if held:
        return _("Somebody else holds this item.")
    if queue.claims.mode is ClaimMode.REQUIRED:
        return _("Claim the item to decide it.")
    return _("This cannot be decided now.")
