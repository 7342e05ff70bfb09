"""Take back a decision: one's own while its window lasts, any with a reason by reopening.

What was noted on an open item, such as an answer, is taken back in the same way: its outcome keeps the
fields that stood before it.

Neither rewrites history: the decision's event stays, and another follows it. Nothing is taken back once
it has had an effect outside of the queue (a payout in a confirmed plan, or paid).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import F
from django.utils.translation import gettext as _

from backoffice import commands, livesettings
from backoffice.audit.models import AuditEvent
from backoffice.commands import Actor, Outcome, command
from backoffice.errors import Refusal
from backoffice.tenants.models import User
from queues import claiming, due_times, scoring, setting_aside, wording
from queues.base import ClaimMode, Queue
from queues.models import QueueItem
from queues.models.item import CLAIM_FREE

BEFORE = "before"  # the key of an outcome's data under which the fields stand that it changed
_TAKEN_BACK = ("item.undo", "item.reopen")


@dataclass(frozen=True)
class Undoable:
    """A decision that its person may still take back: its command, the state before it, and until when.

    `before` are the fields as they stood before what was noted; `freed` says that it ended the hold.
    """

    act: str
    was: str
    until: datetime
    before: Mapping[str, Any] = field(default_factory=dict)
    freed: bool = True


def undo(*, actor: Actor, queue: str, item_id: int, key: str) -> Outcome:
    """Take back the actor's own last decision on the item, and hold it again."""
    return commands.dispatch(undo_decision, actor=actor, key=key, queue=queue, item_id=item_id)


def reopen(*, actor: Actor, queue: str, item_id: int, version: int, reason: str, key: str) -> Outcome:
    """Put a decided item into the queue again."""
    return commands.dispatch(
        reopen_item, actor=actor, key=key, queue=queue, item_id=item_id, version=version, reason=reason
    )


@command("item.undo", permission="queues.claim", target=claiming.target)
def undo_decision(*, actor: Actor, queue: str, item_id: int) -> Outcome:
    """Restore the state before one's own last decision, and one's hold where the cap leaves room for it."""
    listed, person = setting_aside.worker(actor, queue)
    holds = listed.claims.mode is not ClaimMode.DISABLED and claiming.lock_held(listed, person) < listed.claims.max_held
    item = listed.model.objects.select_for_update(no_key=True).filter(pk=item_id).first()
    if item is None:
        raise wording.why_not(item, now=claiming.database_now(), reader=person)
    now = claiming.database_now()
    last = undoable(listed, item, person, now=now)
    if last is None:
        raise Refusal("not-undoable", _("This cannot be undone any more: look at the item to see where it stands."))
    restored: dict[str, Any] = {"state": last.was, "version": F("version") + 1}
    if last.freed:
        restored |= {**CLAIM_FREE, "snoozed_until": None}
    restored |= last.before
    if last.freed and last.was in listed.model.OPEN and holds:
        restored |= {
            "claim_holder": person,
            "claim_token": F("claim_token") + 1,
            "claimed_at": now,
            "lease_until": now + listed.claims.lease,
        }
    listed.model.objects.filter(pk=item_id, version=item.version).update(**restored)
    if last.before:
        scoring.score_range(listed, first=item_id, last=item_id, now=now)
    due_times.keep_one(listed, item_id)
    held = restored.get("claim_holder") is not None
    return Outcome(target=item.target, data={"state": last.was, "undid": last.act, "held": held})


@command("item.reopen", permission="queues.claim", target=claiming.target)
def reopen_item(*, actor: Actor, queue: str, item_id: int, version: int, reason: str) -> Outcome:
    """Move a decided item back to the state in which it awaits a decision."""
    listed, person = setting_aside.worker(actor, queue)
    text = setting_aside.reason_kept(reason)
    item = listed.model.objects.select_for_update(no_key=True).filter(pk=item_id).first()
    if item is None:
        raise wording.why_not(item, now=claiming.database_now(), reader=person)
    if item.is_open:
        raise Refusal("open", _("This item awaits a decision already."))
    if item.takes_effect:
        raise Refusal("took-effect", _("This has had an effect outside of the queue, so it cannot be reopened."))
    if item.version != version:
        raise Refusal("changed", _("This item changed since you opened it. Reload the page and look again."))
    state = listed.model.OPEN[0]
    listed.model.objects.filter(pk=item_id, version=version).update(
        state=state, version=F("version") + 1, snoozed_until=None
    )
    due_times.keep_one(listed, item_id)
    return Outcome(target=item.target, data={"state": state, "was": item.state, "reason": text})


def undoable(listed: Queue, item: QueueItem, person: User, *, now: datetime) -> Undoable | None:
    """Return the person's own last decision on the item while it may be taken back, else nothing."""
    if item.takes_effect or (item.held_at(now) and not (item.is_open and item.claim_holder_id == person.pk)):
        return None
    decisions = {action.command.name for action in listed.actions}
    last = (
        AuditEvent.objects.filter(target=item.target, outcome=AuditEvent.Outcome.DONE)
        .filter(act__in=[*decisions, *_TAKEN_BACK])
        .order_by("-id")
        .first()
    )
    if last is None or last.act not in decisions or last.actor_user_id != person.pk:
        return None
    until = last.at + timedelta(seconds=livesettings.get("queues.undo_seconds"))
    result = last.data.get("result") or {}
    unchanged = result.get("version") == item.version and result.get("state") == item.state
    if until <= now or not unchanged or "was" not in result:
        return None
    fields = {one.name: one for one in listed.model._meta.concrete_fields}
    before = {name: fields[name].to_python(value) for name, value in (result.get(BEFORE) or {}).items()}
    return Undoable(last.act, result["was"], until, before, freed=result.get("freed", True))


def plain(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Write fields as an outcome keeps them."""
    return json.loads(json.dumps(fields, cls=_Exact))


class _Exact(DjangoJSONEncoder):
    """Keep an instant to the microsecond, where Django's encoder cuts it to the millisecond."""

    def default(self, o: Any) -> Any:
        return o.isoformat() if isinstance(o, datetime) else super().default(o)
