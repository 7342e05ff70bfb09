"""Refusals of claims and acts in words: who holds, until when, what to do next."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.utils import formats, timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from backoffice.errors import Refusal
from backoffice.tenants.models import User
from queues.models.item import QueueItem


def instant(when: datetime | None) -> str | None:
    """Write an instant for machines: ISO 8601 with its offset."""
    return when.isoformat() if when else None


def clock(when: datetime, *, now: datetime) -> str:
    """Write an instant in the active zone, which is the reader's: the time alone today, with the date otherwise."""
    local, today = timezone.localtime(when), timezone.localtime(now).date()
    return formats.time_format(local, "H:i") if local.date() == today else formats.date_format(local, "j M Y, H:i")


def why_not(item: QueueItem | None, *, now: datetime, reader: User, lost: bool = False) -> Refusal:
    """Return the refusal that says why the reader cannot hold, or no longer holds, the item.

    `lost` says that the reader came with a claim of their own.
    """
    if item is None:
        return Refusal("gone", _("This item is not here any more."))
    if not item.is_open:
        return Refusal("decided", _("This item is already decided: %(state)s.") % {"state": state_words(item)})
    if item.held_at(now) and item.claim_holder_id != reader.pk and item.lease_until is not None:
        words = {"name": str(item.claim_holder), "time": clock(item.lease_until, now=now)}
        if lost:
            return Refusal("claim-lost", _("Your claim ended, and %(name)s holds this item until %(time)s.") % words)
        return Refusal("held", _("%(name)s holds this item until %(time)s.") % words)
    if item.held_at(now):
        return Refusal("claim-lost", _("You claimed this item again since: reload the page to go on."))
    if lost:
        return Refusal("claim-lost", _("Your claim ended. Claim the item again to go on; nobody holds it now."))
    return Refusal("not-claimed", _("Claim this item first."))


@dataclass(frozen=True)
class Standing:
    """Where the open items within a filter are, as sql/standing.sql counts them for one person."""

    others: int = 0
    next_free: datetime | None = None
    mine: int = 0
    asleep: int = 0
    next_awake: datetime | None = None
    skipped: int = 0
    next_return: datetime | None = None
    left: int = 0


def nothing_free(standing: Standing, *, now: datetime, filtered: bool = False) -> str:
    """Say why claim-next found nothing, and when it is worth to ask again."""
    if standing.left:
        return _("Others are taking the last items right now. Try again.")
    parts = []
    if standing.others and standing.next_free is not None:
        parts.append(
            ngettext(
                "%(count)d is held by others, free at %(time)s at the latest",
                "%(count)d are held by others, the next is free at %(time)s",
                standing.others,
            )
            % {"count": standing.others, "time": clock(standing.next_free, now=now)}
        )
    if standing.mine:
        words = ngettext("%(count)d is yours already", "%(count)d are yours already", standing.mine)
        parts.append(words % {"count": standing.mine})
    if standing.asleep and standing.next_awake is not None:
        parts.append(
            ngettext(
                "%(count)d is snoozed until %(time)s",
                "%(count)d are snoozed, the first until %(time)s",
                standing.asleep,
            )
            % {"count": standing.asleep, "time": clock(standing.next_awake, now=now)}
        )
    if standing.skipped and standing.next_return is not None:
        parts.append(
            ngettext(
                "you skipped %(count)d, which returns at %(time)s",
                "you skipped %(count)d, the first returns at %(time)s",
                standing.skipped,
            )
            % {"count": standing.skipped, "time": clock(standing.next_return, now=now)}
        )
    if not parts:
        return (
            _("Nothing that matches these filters is waiting.") if filtered else _("Nothing is waiting in this queue.")
        )
    if filtered:
        return _("Nothing that matches these filters is free now: %(why)s.") % {"why": "; ".join(parts)}
    return _("Nothing is free now: %(why)s.") % {"why": "; ".join(parts)}


def state_words(item: QueueItem) -> str:
    """Return the item's state as its model labels it."""
    return str(dict(item._meta.get_field("state").flatchoices).get(item.state, item.state))
