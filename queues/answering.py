"""What is said between us and a dispute's customer: whose turn it is decides which clocks run.

An answer is given under one's own live claim, since two would contradict each other. After one that waits for
the customer the item sleeps, free, until the customer writes or the wait is long; after another it stays
with its holder. A message of the customer's is a fact that anybody may note, whoever holds the dispute. Each
outcome keeps what stood before it, by which it can be taken back.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.utils.translation import gettext as _

from backoffice import livesettings
from backoffice.commands import Actor, Outcome, command
from backoffice.errors import Refusal
from queues import acting, claiming, due_times, scoring, undoing, wording
from queues.base import queue_for
from queues.models import Dispute
from queues.models.item import CLAIM_FREE, open_items

MOST_WAITS = 500  # pauses that one item keeps; none is dropped, a further answer waits for a decision instead
_FIELDS = (
    "first_answered_at", "answered_at", "customer_wrote_at", "waiting_since", "owed_since", "waits", "snoozed_until",
)  # fmt: skip


@command("dispute.answer", permission="queues.work_dispute", target="dispute:{item_id}")
def answer(*, actor: Actor, item_id: int, token: int | None = None, version: int | None = None) -> Outcome:
    """Note that the customer has an answer and we go on: the clock to the next word from us begins."""
    item = acting.held_item(Dispute, actor, item_id, token, version)
    now = claiming.database_now()
    fields: dict[str, Any] = {**_answered(item, now), "owed_since": now, "waiting_since": None}
    return _note(item, {**fields, "waits": _ended(item, now), "snoozed_until": None}, now=now)


@command("dispute.answer-and-wait", permission="queues.work_dispute", target="dispute:{item_id}")
def answer_and_wait(*, actor: Actor, item_id: int, token: int | None = None, version: int | None = None) -> Outcome:
    """Note that the customer has an answer and must act now: the clocks pause, and the item sleeps meanwhile."""
    item = acting.held_item(Dispute, actor, item_id, token, version)
    if len(item.waits) >= MOST_WAITS:
        raise Refusal("too-many-waits", _("This dispute has waited for the customer too often. Decide it."))
    now = claiming.database_now()
    until = now + timedelta(days=livesettings.get("queues.customer_days"))
    fields: dict[str, Any] = {**_answered(item, now), "waiting_since": item.waiting_since or now}
    return _note(item, {**fields, "snoozed_until": until}, now=now, frees=True)


@command("dispute.customer-wrote", permission="queues.work_dispute", target="dispute:{item_id}")
def customer_wrote(*, actor: Actor, item_id: int, token: int | None = None, version: int | None = None) -> Outcome:
    """Note a message of the customer's. One that ends a wait makes it our turn; one that urges changes no clock."""
    seen = Dispute.objects.select_for_update(no_key=True).filter(open_items(Dispute), pk=item_id, version=version)
    item = seen.first()
    if item is None:
        raise Refusal("changed", _("This item changed since you opened it. Reload the page and look again."))
    now = claiming.database_now()
    fields: dict[str, Any] = {"customer_wrote_at": now}
    if item.waiting_since is not None:
        fields |= {"waiting_since": None, "owed_since": now, "waits": _ended(item, now), "snoozed_until": None}
    return _note(item, fields, now=now)


def _answered(item: Dispute, now: datetime) -> dict[str, datetime]:
    return {"answered_at": now, "first_answered_at": item.first_answered_at or now}


def _ended(item: Dispute, now: datetime) -> list[list[str]]:
    """Return the ended waits, with the one that ends now."""
    if item.waiting_since is None:
        return item.waits
    return [*item.waits, [item.waiting_since.isoformat(), now.isoformat()]]


def _note(item: Dispute, fields: dict[str, Any], *, now: datetime, frees: bool = False) -> Outcome:
    """Write the fields, then score the item and work out its due time by them."""
    before = {name: getattr(item, name) for name in _FIELDS if name in fields}
    Dispute.objects.filter(pk=item.pk).update(version=item.version + 1, **fields, **(CLAIM_FREE if frees else {}))
    settle(item.pk, now=now)
    due_at, reason = Dispute.objects.values_list("due_at", "due_reason").get(pk=item.pk)
    data = {"state": item.state, "was": item.state, "version": item.version + 1, "freed": frees}
    data |= {undoing.BEFORE: undoing.plain(before), "due_at": wording.instant(due_at), "due_reason": reason}
    return Outcome(target=item.target, data=data)


def settle(item_id: int, *, now: datetime) -> None:
    """Bring the score and the due time of a dispute whose instants changed up to date."""
    listed = queue_for(Dispute)
    scoring.score_range(listed, first=item_id, last=item_id, now=now)
    due_times.keep_one(listed, item_id)
