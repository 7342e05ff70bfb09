"""Show the last four characters of what a queue calls sensitive to those who may not see it whole."""

from __future__ import annotations

from dataclasses import replace

from backoffice.tenants.models import User
from queues import showing
from queues.base import Queue
from queues.models import QueueItem
from queues.showing import Cell

WHOLE = "queues.view_sensitive"
DOTS = "••••"
LAST = 4


def mask(text: str) -> str:
    """Keep the last four characters of a longer text; of a short one, nothing."""
    return DOTS + text[-LAST:] if len(text) > LAST else DOTS if text else ""


def hidden(queue: Queue, person: User) -> frozenset[str]:
    """Return the queue's fields that this person sees masked."""
    return frozenset() if person.has_perm(WHOLE) else frozenset(queue.sensitive)


def cells(queue: Queue, item: QueueItem, names: list[str], *, person: User) -> list[Cell]:
    """Write these fields of the item for the person."""
    masked = hidden(queue, person)
    written = [showing.cell(item, name) for name in names]
    return [replace(one, text=mask(one.text), value=None) if one.name in masked else one for one in written]
