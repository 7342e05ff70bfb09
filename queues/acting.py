"""The decisions on the built-in subjects: each a command under the queue's claim mode.

A queue that requires a claim lets a person decide only under that person's own live claim, by its
token. An optional one also lets a free item be decided under the version that the person saw. The
decision ends the claim and keeps the score. The row is locked under that condition and then updated;
where none is found, a second look finds the words for why. The outcome keeps the state before it, by
which the decision can be taken back.
"""

from __future__ import annotations

from typing import Any, TypeVar

from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from backoffice import commands
from backoffice.commands import Actor, Outcome, command
from backoffice.errors import NotPermitted, Refusal
from queues import claiming, due_times, wording
from queues.base import Action, ClaimMode, Queue, Reason, queue_for
from queues.models import AccountReview, Dispute, Payout, QueueItem
from queues.models.item import CLAIM_FREE

MAX_REASON = 1_000
ItemT = TypeVar("ItemT", bound=QueueItem)


class _Clock(Now):
    """The database's clock at this moment; `Now()` is the transaction's start."""

    template = "clock_timestamp()"

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, **context)


def act(
    *, actor: Actor, action: Action, item_id: int, token: int | None, version: int | None, reason: str, key: str
) -> Outcome:
    """Dispatch one of a queue's declared actions on one item."""
    arguments: dict[str, Any] = {"item_id": item_id, "token": token, "version": version}
    if action.reason is not Reason.NONE:
        arguments["reason"] = reason
    return commands.dispatch(action.command, actor=actor, key=key, **arguments)


@command("payout.approve", permission="queues.work_payout", target="payout:{item_id}")
def approve_payout(*, actor: Actor, item_id: int, token: int | None = None, version: int | None = None) -> Outcome:
    """Approve a payout: finance can plan it from now on."""
    return decide(Payout, Payout.State.APPROVED, actor, item_id, token, version)


@command("payout.hold", permission="queues.work_payout", target="payout:{item_id}")
def hold_payout(
    *, actor: Actor, item_id: int, reason: str, token: int | None = None, version: int | None = None
) -> Outcome:
    """Set a payout aside until somebody resumes it."""
    return decide(Payout, Payout.State.HELD, actor, item_id, token, version, reason=reason)


@command("payout.return", permission="queues.work_payout", target="payout:{item_id}")
def return_payout(
    *, actor: Actor, item_id: int, reason: str, token: int | None = None, version: int | None = None
) -> Outcome:
    """Send a payout back to whoever asked for it; it is never paid."""
    return decide(Payout, Payout.State.RETURNED, actor, item_id, token, version, reason=reason)


@command("payout.resume", permission="queues.work_payout", target="payout:{item_id}")
def resume_payout(
    *, actor: Actor, item_id: int, reason: str = "", token: int | None = None, version: int | None = None
) -> Outcome:
    """Put a held payout back into the queue, under the version that the person saw."""
    text = _reason(reason, needed=False)
    changed = Payout.objects.filter(pk=item_id, state=Payout.State.HELD, version=version).update(
        state=Payout.State.PENDING, version=F("version") + 1
    )
    if not changed:
        raise Refusal("changed", _("This payout is not held any more, or it changed. Reload the page."))
    assert version is not None  # a row has that version
    due_times.keep_one(queue_for(Payout), item_id)  # the calendar may have changed while nobody waited for it
    return Outcome(
        target=f"payout:{item_id}",
        data={
            "state": Payout.State.PENDING.value,
            "reason": text,
            "was": Payout.State.HELD.value,
            "version": version + 1,
        },
    )


@command("dispute.resolve", permission="queues.work_dispute", target="dispute:{item_id}")
def resolve_dispute(
    *, actor: Actor, item_id: int, reason: str = "", token: int | None = None, version: int | None = None
) -> Outcome:
    """Resolve a dispute for the customer."""
    return decide(Dispute, Dispute.State.RESOLVED, actor, item_id, token, version, reason=reason, needed=False)


@command("dispute.refuse", permission="queues.work_dispute", target="dispute:{item_id}")
def refuse_dispute(
    *, actor: Actor, item_id: int, reason: str, token: int | None = None, version: int | None = None
) -> Outcome:
    """Refuse a dispute."""
    return decide(Dispute, Dispute.State.REFUSED, actor, item_id, token, version, reason=reason)


@command("review.clear", permission="queues.work_accountreview", target="accountreview:{item_id}")
def clear_review(
    *, actor: Actor, item_id: int, reason: str = "", token: int | None = None, version: int | None = None
) -> Outcome:
    """Clear an account."""
    return decide(
        AccountReview, AccountReview.State.CLEARED, actor, item_id, token, version, reason=reason, needed=False
    )


@command("review.escalate", permission="queues.work_accountreview", target="accountreview:{item_id}")
def escalate_review(
    *, actor: Actor, item_id: int, reason: str, token: int | None = None, version: int | None = None
) -> Outcome:
    """Escalate an account to those who decide about it."""
    return decide(AccountReview, AccountReview.State.ESCALATED, actor, item_id, token, version, reason=reason)


def decide(
    model: type[QueueItem],
    state: str,
    actor: Actor,
    item_id: int,
    token: int | None,
    version: int | None,
    *,
    reason: str | None = None,
    needed: bool = True,
) -> Outcome:
    """Move an open item to its decided state, under the queue's claim mode."""
    if actor.user is None:
        raise NotPermitted("not-permitted", _("A person decides about items."))
    listed = queue_for(model)
    text = "" if reason is None else _reason(reason, needed=needed)
    standing = _standing(listed.claims.mode, actor.user.pk, token, version)
    before = (
        model.objects.select_for_update(no_key=True)
        .filter(standing, pk=item_id, state__in=model.OPEN)
        .values_list("state", "version")
        .first()
    )
    if before is None:
        raise _why_not(listed, actor, item_id, token)
    was, seen = before
    model.objects.filter(pk=item_id).update(state=state, version=seen + 1, snoozed_until=None, **CLAIM_FREE)
    return Outcome(
        target=f"{model._meta.model_name}:{item_id}",
        data={"state": str(state), "reason": text, "was": was, "version": seen + 1},
    )


def held_item(model: type[ItemT], actor: Actor, item_id: int, token: int | None, version: int | None) -> ItemT:
    """Return the open item, locked, if the person may decide it under the queue's claim mode; refuse otherwise."""
    if actor.user is None:
        raise NotPermitted("not-permitted", _("A person works on items."))
    listed = queue_for(model)
    standing = _standing(listed.claims.mode, actor.user.pk, token, version)
    item = model.objects.select_for_update(no_key=True).filter(standing, pk=item_id, state__in=model.OPEN).first()
    if item is None:
        raise _why_not(listed, actor, item_id, token)
    return item


def _standing(mode: ClaimMode, person: int, token: int | None, version: int | None) -> Q:
    """Return the condition under which the person may decide."""
    mine = Q(claim_holder_id=person, claim_token=token, lease_until__gt=_Clock())
    free = (Q(claim_holder_id=None) | Q(lease_until__lte=_Clock())) & Q(version=version)
    if mode is ClaimMode.REQUIRED:
        return mine
    if mode is ClaimMode.OPTIONAL:
        return mine | free
    return Q(version=version)


def _why_not(listed: Queue, actor: Actor, item_id: int, token: int | None) -> Refusal:
    item = listed.model.objects.select_related("claim_holder").filter(pk=item_id).first()
    now = claiming.database_now()
    assert actor.user is not None
    free = item is not None and item.is_open and not item.held_at(now)
    if free and token is None and listed.claims.mode is not ClaimMode.REQUIRED:
        return Refusal("changed", _("This item changed since you opened it. Reload the page and look again."))
    return wording.why_not(item, now=now, reader=actor.user, lost=token is not None)


def _reason(text: str, *, needed: bool) -> str:
    """Return the reason as it is kept: trimmed, within bounds."""
    kept = text.strip()
    if needed and not kept:
        raise Refusal("reason-missing", _("Give a reason."))
    if len(kept) > MAX_REASON:
        raise Refusal("reason-too-long", _("A reason has at most %(max)d characters.") % {"max": MAX_REASON})
    return kept
