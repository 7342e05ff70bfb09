"""Hold an item for a while: claim, claim next, renew, release.

Each is one conditional UPDATE by the database's clock, whose row is read back; when there is none, a
second look finds the words for why. The claimer's membership row is locked first, so that the cap on
held items cannot be raced. Who holds what ends by itself when the lease does.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from django.db import connection
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from psycopg import sql as names

from backoffice import commands, sql
from backoffice.commands import Actor, Outcome, command
from backoffice.errors import NotPermitted, Refusal
from backoffice.tenants import scope
from backoffice.tenants.models import User
from queues import narrowing, ordering, wording
from queues.base import ClaimMode, Queue, queues
from queues.clocks import database_now as database_now  # the clock of every claim
from queues.models.item import QueueItem

_SQL = Path(__file__).parent / "sql"
_RETRIES = 20
_WIDE = narrowing.WIDE


def claim(*, actor: Actor, queue: str, item_id: int, key: str) -> Outcome:
    """Hold this item for the actor; return {item_id, token, lease_until}, or raise Refusal in words."""
    return commands.dispatch(claim_item, actor=actor, key=key, queue=queue, item_id=item_id)


def claim_next(*, actor: Actor, queue: str, key: str, filters: Mapping[str, str] | None = None) -> Outcome:
    """Hold the first item within the list's filters that nobody holds; raise Refusal "nothing-free" otherwise."""
    narrowed: dict[str, Any] = {"filters": dict(filters)} if filters else {}
    return commands.dispatch(claim_next_item, actor=actor, key=key, queue=queue, **narrowed)


def renew(*, actor: Actor, queue: str, item_id: int, token: int, key: str) -> Outcome:
    """Extend the actor's live hold up to the longest one; `lease_until` in the outcome says how far."""
    return commands.dispatch(renew_item, actor=actor, key=key, queue=queue, item_id=item_id, token=token)


def release(*, actor: Actor, queue: str, item_id: int, token: int, key: str) -> Outcome:
    """Give the actor's item back to the queue."""
    return commands.dispatch(release_item, actor=actor, key=key, queue=queue, item_id=item_id, token=token)


def target(*, queue: str, item_id: int, **_more: Any) -> str:
    """Name the item for the audit: "payout:17"."""
    return f"{queues.get(queue).model._meta.model_name}:{item_id}"


@command("item.claim", permission="queues.claim", target=target)
def claim_item(*, actor: Actor, queue: str, item_id: int) -> Outcome:
    """Hold one item."""
    listed, person = may_claim(actor, queue)
    lock_cap(listed, person, besides=item_id)
    row = run("claim.sql", listed, person, item=item_id)
    return outcome(listed, row) if row else refuse(listed, person, item_id)


@command("item.claim-next", permission="queues.claim")
def claim_next_item(*, actor: Actor, queue: str, filters: dict[str, str] | None = None) -> Outcome:
    """Hold the first item that nobody holds and that this person has not skipped.

    The search passes over rows that other transactions have locked, and one of those may not be taken
    in the end. So before saying that nothing is free, wait for such a row and look again.
    """
    listed, person = may_claim(actor, queue)
    lock_membership(listed, person)
    narrowed, values = narrowing.condition(queue=listed, filters=filters or {}, person=person)
    order = ordering.of(filters or {})
    for _attempt in range(_RETRIES):
        if row := run("claim_next.sql", listed, person, narrowed=narrowed, order=order, **values):
            return outcome(listed, row)
        refuse_past_cap(listed, person)
        standing = wording.Standing(*(run("standing.sql", listed, person, narrowed=narrowed, **values) or ()))
        if not standing.left:
            break
        run("wait_turn.sql", listed, person, narrowed=narrowed, **values)
    raise Refusal("nothing-free", wording.nothing_free(standing, now=database_now(), filtered=bool(filters)))


@command(
    "item.renew",
    permission="queues.claim",
    target=target,
    unaudited="the open page renews by itself every few minutes",
)
def renew_item(*, actor: Actor, queue: str, item_id: int, token: int) -> Outcome:
    """Extend one's own live hold."""
    listed, person = may_claim(actor, queue)
    row = run("renew.sql", listed, person, item=item_id, token=token)
    return outcome(listed, row) if row else refuse(listed, person, item_id, lost=True)


@command("item.release", permission="queues.claim", target=target)
def release_item(*, actor: Actor, queue: str, item_id: int, token: int) -> Outcome:
    """Give one's own item back."""
    listed, person = may_claim(actor, queue)
    row = run("release.sql", listed, person, item=item_id, token=token)
    return outcome(listed, row) if row else refuse(listed, person, item_id, lost=True)


def may_claim(actor: Actor, name: str) -> tuple[Queue, User]:
    """Check the queue's own permission and mode; the command's permission alone opens no queue."""
    listed = queues.get(name)
    if actor.user is None or not actor.user.has_perm(listed.work):
        raise NotPermitted("not-permitted", _("You may not work in this queue."))
    if listed.claims.mode is ClaimMode.DISABLED:
        raise Refusal("claims-off", _("Items of this queue are not claimed; decide them directly."))
    return listed, actor.user


def lock_held(listed: Queue, person: User, *, besides: int | None = None) -> int:
    """Lock the person's membership and count their live holds; until the end, nobody can add to them."""
    lock_membership(listed, person)
    return held(listed, person, besides=besides)


def lock_membership(listed: Queue, person: User) -> None:
    """Lock the person's membership until the transaction ends: whoever counts or adds to their holds waits."""
    if run("lock_membership.sql", listed, person) is None:
        raise NotPermitted("not-permitted", _("You may not work in this queue."))


def held(listed: Queue, person: User, *, besides: int | None = None) -> int:
    """Count the person's live holds in the queue; without the lock others may add to them meanwhile."""
    (number,) = run("held.sql", listed, person, item=besides or 0) or (0,)
    return int(number)


def lock_cap(listed: Queue, person: User, *, besides: int | None = None, reader: User | None = None) -> None:
    """Lock the person's membership, then refuse, in words for the reader, when the cap of live holds is reached."""
    lock_membership(listed, person)
    refuse_past_cap(listed, person, besides=besides, reader=reader)


def refuse_past_cap(listed: Queue, person: User, *, besides: int | None = None, reader: User | None = None) -> None:
    """Refuse, in words for the reader, when the person holds as many items as the queue allows."""
    number = held(listed, person, besides=besides)
    if number >= listed.claims.max_held and reader not in (None, person):
        raise Refusal(
            "cap-reached",
            ngettext(
                "%(name)s already holds %(count)d item, the most allowed here.",
                "%(name)s already holds %(count)d items, the most allowed here.",
                number,
            )
            % {"name": person, "count": number},
        )
    if number >= listed.claims.max_held:
        raise Refusal(
            "cap-reached",
            ngettext(
                "You already hold %(count)d item, the most allowed here. Decide or release it first.",
                "You already hold %(count)d items, the most allowed here. Decide or release one first.",
                number,
            )
            % {"count": number},
        )


def run(
    file: str,
    listed: Queue,
    person: User,
    *,
    narrowed: names.Composable = _WIDE,
    order: ordering.Order = ordering.BY_SCORE,
    **values: Any,
) -> tuple[Any, ...] | None:
    """Run one statement over the queue's table in the open tenant; return its first row."""
    claims = listed.claims
    bound = {
        "tenant": scope.current().pk,
        "person": person.pk,
        "model": listed.model._meta.model_name,
        "lease": claims.lease,
        "max_hold": claims.max_hold,
        "max_held": claims.max_held,
        **values,
    }
    if narrowed is _WIDE and order is ordering.BY_SCORE:
        rows = sql.prepared(_plain(file, listed.model), bound)
        return rows[0] if rows else None
    with connection.cursor() as cursor:
        cursor.execute(statement(file, listed.model, narrowed, order), bound)
        return cursor.fetchone()


@cache
def _plain(file: str, model: type[QueueItem]) -> str:
    """Compose a statement without a filter once: each claim would otherwise pay for it."""
    return statement(file, model, _WIDE)


def statement(
    file: str,
    model: type[QueueItem],
    narrowed: names.Composable = _WIDE,
    order: ordering.Order = ordering.BY_SCORE,
) -> str:
    """Compose a statement over the model's table.

    The model's open states are written out: with a parameter in their place a prepared plan could not
    use the partial indexes, since it would not know that they hold every row it may ask for.
    """
    open_states = names.SQL(", ").join(names.Literal(state) for state in model.OPEN)
    composed = names.SQL(sql.read(_SQL / file)).format(
        items=names.Identifier(model._meta.db_table),
        open=open_states,
        narrowed=narrowed,
        order=order.sql,
        aside=order.aside,
    )
    return composed.as_string(None)


def outcome(listed: Queue, row: tuple[Any, ...]) -> Outcome:
    """Report a hold: its item, its token and its end."""
    item_id, token, lease_until = row
    named = target(queue=listed.name, item_id=item_id)
    return Outcome(target=named, data={"item_id": item_id, "token": token, "lease_until": wording.instant(lease_until)})


def refuse(listed: Queue, person: User, item_id: int, *, lost: bool = False) -> NoReturn:
    """Say why the item could not be held, or why the hold is no more."""
    item = listed.model.objects.select_related("claim_holder").filter(pk=item_id).first()
    raise wording.why_not(item, now=database_now(), reader=person, lost=lost)


def renew_every(listed: Queue) -> timedelta:
    """Return how often an open page renews: three times a lease, so that one lost request does no harm."""
    return listed.claims.lease / 3
