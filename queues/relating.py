"""Find what belongs together: the same party in any queue, the same account, probable duplicates.

Each look is capped and goes by an index of the field's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.utils.translation import gettext as _

from backoffice.tenants.models import User
from queues import masking, showing
from queues.base import Queue, queues
from queues.models import QueueItem
from queues.models.item import open_items

SHOWN = 5
TWINS_SHOWN = 10
TWINS_WITHIN = timedelta(days=7)


@dataclass(frozen=True)
class Group:
    """Items that share something with the one that is looked at; `more` says that there are others."""

    title: str
    queue: Queue
    items: list[QueueItem]
    more: bool


def related(*, queue: Queue, item: QueueItem, person: User) -> list[Group]:
    """Return the groups that are not empty, of the queues that the person may view; the newest first."""
    groups = []
    party = str(getattr(item, queue.party)) if queue.party else ""
    for other in queues:
        if party and other.party and person.has_perm(other.view):
            title = _("%(queue)s of %(party)s") % {"queue": other.title, "party": party}
            groups.append(_group(title, other, item, **{other.party: party}))
    for name in queue.same:
        value = getattr(item, name)
        if value:
            written = masking.mask(str(value)) if name in masking.hidden(queue, person) else value
            label = showing.label(queue.model, name).lower()
            title = _("Same %(field)s: %(value)s") % {"field": label, "value": written}
            groups.append(_group(title, queue, item, **{name: value}))
    return [group for group in groups if group.items]


def twins(*, queue: Queue, item: QueueItem) -> list[QueueItem]:
    """Return the open items that look like the same thing twice: equal in `queue.twins`, a week apart at most."""
    if not queue.twins or not item.is_open:
        return []
    equal = {name: getattr(item, name) for name in queue.twins}
    near = (item.opened_at - TWINS_WITHIN, item.opened_at + TWINS_WITHIN)
    rows = queue.model.objects.filter(open_items(queue.model), opened_at__range=near, **equal)
    return list(rows.exclude(pk=item.pk).order_by("-id")[:TWINS_SHOWN])


def _group(title: str, queue: Queue, item: QueueItem, **equal: str) -> Group:
    rows = queue.model.objects.filter(**equal)
    if queue.model is type(item):
        rows = rows.exclude(pk=item.pk)
    found = list(rows.order_by("-id")[: SHOWN + 1])
    return Group(title, queue, found[:SHOWN], len(found) > SHOWN)
