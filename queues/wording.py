"""Refusals of claims and acts in words: who holds, until when, what to do next."""

from __future__ import annotations

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


def nothing_free(others: int, next_free: datetime | None, mine: int, sleeping: int, left: int) -> str:
    """Say why claim-next found nothing, and when it is worth to ask again."""
    if left:
        return _("Others are taking the last items right now. Try again.")
    parts = []
    if others and next_free is not None:
        time = formats.time_format(timezone.localtime(next_free), "H:i")
        parts.append(
            ngettext(
                "%(count)d is held by others, free at %(time)s at the latest",
                "%(count)d are held by others, the next is free at %(time)s",
                others,
            )
            % {"count": others, "time": time}
        )
    if mine:
        parts.append(ngettext("%(count)d is yours already", "%(count)d are yours already", mine) % {"count": mine})
    if sleeping:
        parts.append(ngettext("%(count)d is snoozed", "%(count)d are snoozed", sleeping) % {"count": sleeping})
    if not parts:
        return _("Nothing is waiting in this queue.")
    return _("Nothing is free now: %(why)s.") % {"why": "; ".join(parts)}


def state_words(item: QueueItem) -> str:
    """Return the item's state as its model labels it."""
    return str(dict(item._meta.get_field("state").flatchoices).get(item.state, item.state))
