"""Share items out in turn among people: by a supervisor's choice, or on arrival where the queue declares it.

A queue of a tenant has one rotation: its people in the order in which they joined, and a head, whose turn
comes next. Who is away or has no room is passed over for good in that turn, so nobody who follows them is
given twice in a row. The rotation's row is locked first, then the memberships, then the item: two share-outs
at once take turns, and no cap can be raced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from backoffice import sql
from backoffice.audit import recording
from backoffice.commands import Actor, Outcome, command
from backoffice.errors import Refusal
from backoffice.tenants import scope
from backoffice.tenants.models import User
from queues import claiming, handing
from queues.base import Queue
from queues.models import Absence, ItemSkip, Rotation
from queues.models.item import list_order, open_items

MOST = 200  # items that one command gives out by itself

_SQL = Path(__file__).parent / "sql"


@command("item.share", permission="queues.supervise", target=claiming.target)
def share_item(*, actor: Actor, queue: str, item_id: int, among: list[int], note: str) -> Outcome:
    """Give a free item to the one of these people whose turn it is."""
    listed, person = claiming.may_claim(actor, queue)
    text = handing.note_kept(note)
    ring = _Ring(listed, among)
    receiver = ring.take(lambda one: _has_room(listed, one, listed.claims.max_held))
    if receiver is None:
        raise Refusal("nobody-left", _("Everybody chosen is away or holds the most allowed here."))
    row = claiming.run("hand.sql", listed, person, item=item_id, to=receiver.pk, under="free", token=0)
    if row is None:
        claiming.refuse(listed, person, item_id)
    ring.keep()
    return handing.handed(listed, row, receiver.pk, note=text)


def share_free(*, actor: Actor, listed: Queue) -> int:
    """Give out the queue's free items in list order, as it declares, in the open transaction; return how many."""
    if listed.assign is None:
        return 0
    most = min(listed.assign.most or listed.claims.max_held, listed.claims.max_held)
    ring = _Ring(listed, None)
    room: dict[int, int] = {}
    for one in ring.present():
        room[one.pk] = max(0, most - claiming.lock_held(listed, one))
    free = listed.model.objects.filter(open_items(listed.model), claim_holder=None, snoozed_until=None)
    taken = min(sum(room.values()), MOST)
    locked = free.select_for_update(skip_locked=True, no_key=True).order_by(*list_order())[:taken]
    items = list(locked.values_list("pk", flat=True)) if taken else []
    skips = _skipped(listed, items)
    given = 0
    for item in items:
        receiver = ring.take(partial(_would_take, room, skips, item))
        if receiver is None:
            continue  # everybody with room has skipped it
        row = claiming.run("hand.sql", listed, receiver, item=item, to=receiver.pk, under="free", token=0)
        if row is None:
            continue
        room[receiver.pk] -= 1
        given += 1
        outcome = handing.handed(listed, row, receiver.pk)
        recording.record(
            actor=actor.name,
            actor_user_id=None,
            acting_for=actor.acting_for,
            act="item.share",
            target=outcome.target,
            data={"result": outcome.data},
        )
    ring.keep()
    return given


def head(listed: Queue) -> User | None:
    """Return whose turn comes next in the queue; None before anything was shared out."""
    found = Rotation.objects.filter(queue=listed.name).select_related("head").first()
    return found.head if found else None


def away() -> dict[int, Absence]:
    """Return who takes nothing now in the open tenant, by person."""
    rows = Absence.objects.filter(Q(until=None) | Q(until__gt=Now())).select_related("set_by")
    return {row.person_id: row for row in rows}


class _Ring:
    """The queue's rotation, locked, over the people who were chosen or over all."""

    def __init__(self, listed: Queue, among: Sequence[int] | None) -> None:
        values = {"tenant": scope.current().pk, "queue": listed.name}
        ((self._row, head_id),) = sql.prepared(sql.read(_SQL / "lock_rotation.sql"), values)
        self._listed = listed
        people = handing.in_order_of_joining(listed)
        self._people = [one for one in people if among is None or one.pk in set(among)]
        self._away = away()
        self._head = self._place(people, head_id)
        self._moved = False

    def present(self) -> list[User]:
        """Return who is not away."""
        return [one for one in self._people if one.pk not in self._away]

    def take(self, fits: Callable[[User], bool]) -> User | None:
        """Return the next one in turn who is not away and fits, and move the head behind them; else nobody."""
        for place in self._turn():
            one = self._people[place]
            if one.pk not in self._away and fits(one):
                self._head, self._moved = (place + 1) % len(self._people), True
                return one
        return None

    def keep(self) -> None:
        """Store the head."""
        if self._moved:
            Rotation.objects.filter(pk=self._row).update(head=self._people[self._head])

    def _turn(self) -> Iterator[int]:
        for step in range(len(self._people)):
            yield (self._head + step) % len(self._people)

    def _place(self, everybody: list[User], head_id: Any) -> int:
        """Find the first of the people at or after the stored head."""
        order = {one.pk: place for place, one in enumerate(everybody)}
        stored = order.get(head_id, 0)
        return next((place for place, one in enumerate(self._people) if order[one.pk] >= stored), 0)


def _would_take(room: dict[int, int], skips: set[tuple[int, int]], item: int, person: User) -> bool:
    return room.get(person.pk, 0) > 0 and (person.pk, item) not in skips


def _has_room(listed: Queue, person: User, most: int) -> bool:
    return claiming.held(listed, person) < most and claiming.lock_held(listed, person) < most


def _skipped(listed: Queue, items: list[int]) -> set[tuple[int, int]]:
    rows = ItemSkip.objects.filter(model=listed.model._meta.model_name, item__in=items, until__gt=Now())
    return set(rows.values_list("person_id", "item"))
