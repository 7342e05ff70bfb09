"""Set an item aside: skip it for oneself, snooze it for everybody, wake it again.

A skip ends the person's own hold and keeps claim-next from giving the item to that person for a while;
another person is still given it first. A snooze takes the item out of the free set until its instant:
that is decided when the item is read, and the sweep only tidies up after it. Whoever opens a sleeping
item may still claim it, which wakes it.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from backoffice import commands, livesettings
from backoffice.commands import Actor, Outcome, command
from backoffice.errors import NotPermitted, Refusal
from backoffice.tenants.models import User
from queues import claiming, wording
from queues.base import ClaimMode, Queue, queues

MAX_REASON = 1_000
LONGEST_SNOOZE = timedelta(days=92)


def skip(*, actor: Actor, queue: str, item_id: int, token: int, key: str) -> Outcome:
    """Give the actor's item back, and put it behind for the actor alone; `until` in the outcome says how long."""
    return commands.dispatch(skip_item, actor=actor, key=key, queue=queue, item_id=item_id, token=token)


def snooze(
    *,
    actor: Actor,
    queue: str,
    item_id: int,
    token: int | None,
    version: int | None,
    until: datetime,
    reason: str,
    key: str,
) -> Outcome:
    """Take the item out of the free set until an instant, with a reason."""
    seen: dict[str, Any] = {"token": token, "version": version}
    instant = until.isoformat()
    return commands.dispatch(
        snooze_item, actor=actor, key=key, queue=queue, item_id=item_id, until=instant, reason=reason, **seen
    )


def wake(*, actor: Actor, queue: str, item_id: int, key: str) -> Outcome:
    """Bring a sleeping item back before its time."""
    return commands.dispatch(wake_item, actor=actor, key=key, queue=queue, item_id=item_id)


@command("item.skip", permission="queues.claim", target=claiming.target)
def skip_item(*, actor: Actor, queue: str, item_id: int, token: int) -> Outcome:
    """Release one's own live or lapsed hold and remember the skip."""
    listed, person = claiming.may_claim(actor, queue)
    if not claiming.run("release.sql", listed, person, item=item_id, token=token):
        claiming.refuse(listed, person, item_id, lost=True)
    length = timedelta(minutes=livesettings.get("queues.skip_minutes"))
    (until,) = claiming.run("skip.sql", listed, person, item=item_id, length=length) or (None,)
    return Outcome(
        target=claiming.target(queue=queue, item_id=item_id),
        data={"item_id": item_id, "until": wording.instant(until)},
    )


@command("item.snooze", permission="queues.claim", target=claiming.target)
def snooze_item(
    *, actor: Actor, queue: str, item_id: int, until: str, reason: str, token: int | None, version: int | None
) -> Outcome:
    """Put the item to sleep, under the conditions of a decision; a supervisor also what nobody holds."""
    listed, person = worker(actor, queue)
    kept = reason_kept(reason)
    instant = datetime.fromisoformat(until)
    check_until(instant, now=claiming.database_now())
    without = listed.claims.mode is not ClaimMode.REQUIRED or person.has_perm("queues.supervise")
    seen: dict[str, Any] = {"token": token, "version": version, "without": without}
    if not claiming.run("snooze.sql", listed, person, item=item_id, until=instant, **seen):
        raise _why_not(listed, person, item_id, token)
    return Outcome(target=claiming.target(queue=queue, item_id=item_id), data={"until": until, "reason": kept})


@command("item.wake-now", permission="queues.claim", target=claiming.target)
def wake_item(*, actor: Actor, queue: str, item_id: int) -> Outcome:
    """End a snooze."""
    listed, person = worker(actor, queue)
    if not claiming.run("wake.sql", listed, person, item=item_id):
        raise Refusal("awake", _("This item is not snoozed any more."))
    return Outcome(target=claiming.target(queue=queue, item_id=item_id))


def presets(*, now: datetime) -> list[tuple[str, str, datetime]]:
    """Return the usual choices in the active zone, which is the reader's: name, words, instant."""
    local = timezone.localtime(now)
    morning = local.replace(hour=9, minute=0, second=0, microsecond=0)
    return [
        ("hour", _("In 1 hour"), now + timedelta(hours=1)),
        ("tomorrow", _("Tomorrow, 9:00"), morning + timedelta(days=1)),
        ("monday", _("Next Monday, 9:00"), morning + timedelta(days=7 - local.weekday())),
    ]


def chosen(*, preset: str, typed: str, now: datetime) -> datetime:
    """Return the instant that was chosen, or typed in the active zone; raise Refusal for neither."""
    for name, _words, instant in presets(now=now):
        if preset == name:
            return instant
    try:
        local = datetime.fromisoformat(typed.strip())
    except ValueError:
        raise Refusal("no-time", _("Say until when: choose a time, or type a date and a time.")) from None
    return local if local.tzinfo else timezone.make_aware(local)


def check_until(instant: datetime | None, *, now: datetime) -> None:
    """Refuse an end of a snooze that is missing, over already, or too far away."""
    if instant is None:
        raise Refusal("no-time", _("Say until when: choose a time, or type a date and a time."))
    if instant <= now:
        raise Refusal("past", _("That time is over already. Choose a later one."))
    if instant > now + LONGEST_SNOOZE:
        days = LONGEST_SNOOZE.days
        raise Refusal("too-far", _("An item can be snoozed for %(days)d days at most.") % {"days": days})


def reason_kept(text: str) -> str:
    """Return a needed reason as it is kept: trimmed, within bounds."""
    kept = text.strip()
    if not kept:
        raise Refusal("reason-missing", _("Give a reason."))
    if len(kept) > MAX_REASON:
        raise Refusal("reason-too-long", _("A reason has at most %(max)d characters.") % {"max": MAX_REASON})
    return kept


def worker(actor: Actor, queue: str) -> tuple[Queue, User]:
    """Check the queue's own permission; a queue without claims can be snoozed too."""
    listed = queues.get(queue)
    if actor.user is None or not actor.user.has_perm(listed.work):
        raise NotPermitted("not-permitted", _("You may not work in this queue."))
    return listed, actor.user


def _why_not(listed: Queue, person: User, item_id: int, token: int | None) -> Refusal:
    item = listed.model.objects.select_related("claim_holder").filter(pk=item_id).first()
    now = claiming.database_now()
    free = item is not None and item.is_open and not item.held_at(now)
    if free and token is None and listed.claims.mode is not ClaimMode.REQUIRED:
        return Refusal("changed", _("This item changed since you opened it. Reload the page and look again."))
    return wording.why_not(item, now=now, reader=person, lost=token is not None)
