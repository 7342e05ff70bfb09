"""Hold an item for a while: claim, claim next, renew, release.

Each is one conditional UPDATE by the database's clock, whose row is read back; when there is none, a
second look finds the words for why. The claimer's membership row is locked first, so that the cap on
held items cannot be raced. Who holds what ends by itself when the lease does.
"""

from __future__ import annotations

from datetime import datetime, timedelta
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
from backoffice.tenants.models import Membership, User
from queues import wording
from queues.base import ClaimMode, Queue, queues

_SQL = Path(__file__).parent / "sql"
_RETRIES = 20


def claim(*, actor: Actor, queue: str, item_id: int, key: str) -> Outcome:
    """Hold this item for the actor; return {item_id, token, lease_until}, or raise Refusal in words."""
    return commands.dispatch(claim_item, actor=actor, key=key, queue=queue, item_id=item_id)


def claim_next(*, actor: Actor, queue: str, key: str) -> Outcome:
    """Hold the first item of the list that nobody holds; raise Refusal "nothing-free" when there is none."""
    return commands.dispatch(claim_next_item, actor=actor, key=key, queue=queue)


def renew(*, actor: Actor, queue: str, item_id: int, token: int, key: str) -> Outcome:
    """Extend the actor's live hold up to the longest one; `lease_until` in the outcome says how far."""
    return commands.dispatch(renew_item, actor=actor, key=key, queue=queue, item_id=item_id, token=token)


def release(*, actor: Actor, queue: str, item_id: int, token: int, key: str) -> Outcome:
    """Give the actor's item back to the queue."""
    return commands.dispatch(release_item, actor=actor, key=key, queue=queue, item_id=item_id, token=token)


@command("item.claim", permission="queues.claim")
def claim_item(*, actor: Actor, queue: str, item_id: int) -> Outcome:
    """Hold one item."""
    listed, person = _may_claim(actor, queue)
    _lock_cap(listed, person, besides=item_id)
    row = _run("claim.sql", listed, person, item=item_id)
    return _outcome(listed, row) if row else _refuse(listed, person, item_id)


@command("item.claim-next", permission="queues.claim")
def claim_next_item(*, actor: Actor, queue: str) -> Outcome:
    """Hold the first item that nobody holds.

    The search passes over rows that other transactions have locked, and one of those may not be taken
    in the end. So before saying that nothing is free, wait for such a row and look again.
    """
    listed, person = _may_claim(actor, queue)
    _lock_cap(listed, person)
    for _attempt in range(_RETRIES):
        if row := _run("claim_next.sql", listed, person):
            return _outcome(listed, row)
        others, next_free, mine, sleeping, left = _run("standing.sql", listed, person) or (0, None, 0, 0, 0)
        if not left:
            break
        _run("wait_turn.sql", listed, person)
    raise Refusal("nothing-free", wording.nothing_free(others, next_free, mine, sleeping, left))


@command("item.renew", permission="queues.claim", unaudited="the open page renews by itself every few minutes")
def renew_item(*, actor: Actor, queue: str, item_id: int, token: int) -> Outcome:
    """Extend one's own live hold."""
    listed, person = _may_claim(actor, queue)
    row = _run("renew.sql", listed, person, item=item_id, token=token)
    return _outcome(listed, row) if row else _refuse(listed, person, item_id, lost=True)


@command("item.release", permission="queues.claim")
def release_item(*, actor: Actor, queue: str, item_id: int, token: int) -> Outcome:
    """Give one's own item back."""
    listed, person = _may_claim(actor, queue)
    row = _run("release.sql", listed, person, item=item_id, token=token)
    return _outcome(listed, row) if row else _refuse(listed, person, item_id, lost=True)


def _may_claim(actor: Actor, name: str) -> tuple[Queue, User]:
    """Check the queue's own permission and mode; the command's permission alone opens no queue."""
    listed = queues.get(name)
    if actor.user is None or not actor.user.has_perm(listed.work):
        raise NotPermitted("not-permitted", _("You may not work in this queue."))
    if listed.claims.mode is ClaimMode.DISABLED:
        raise Refusal("claims-off", _("Items of this queue are not claimed; decide them directly."))
    return listed, actor.user


def _lock_cap(listed: Queue, person: User, *, besides: int | None = None) -> None:
    """Lock the person's membership, then refuse when the cap of live holds is reached."""
    if not Membership.objects.select_for_update(no_key=True).filter(user=person).exists():
        raise NotPermitted("not-permitted", _("You may not work in this queue."))
    (held,) = _run("held.sql", listed, person, item=besides or 0) or (0,)
    if held >= listed.claims.max_held:
        raise Refusal(
            "cap-reached",
            ngettext(
                "You already hold %(count)d item, the most allowed here. Decide or release it first.",
                "You already hold %(count)d items, the most allowed here. Decide or release one first.",
                held,
            )
            % {"count": held},
        )


def _run(file: str, listed: Queue, person: User, **values: Any) -> tuple[Any, ...] | None:
    """Run one statement over the queue's table in the open tenant; return its first row."""
    text = names.SQL(sql.read(_SQL / file)).format(items=names.Identifier(listed.model._meta.db_table))
    claims = listed.claims
    bound = {
        "tenant": scope.current().pk,
        "open": list(listed.model.OPEN),
        "person": person.pk,
        "lease": claims.lease,
        "max_hold": claims.max_hold,
        **values,
    }
    with connection.cursor() as cursor:
        cursor.execute(text, bound)
        return cursor.fetchone()


def _outcome(listed: Queue, row: tuple[Any, ...]) -> Outcome:
    item_id, token, lease_until = row
    target = f"{listed.model._meta.model_name}:{item_id}"
    return Outcome(
        target=target, data={"item_id": item_id, "token": token, "lease_until": wording.instant(lease_until)}
    )


def _refuse(listed: Queue, person: User, item_id: int, *, lost: bool = False) -> NoReturn:
    """Say why the item could not be held, or why the hold is no more."""
    item = listed.model.objects.select_related("claim_holder").filter(pk=item_id).first()
    raise wording.why_not(item, now=database_now(), reader=person, lost=lost)


def database_now() -> datetime:
    """Read the clock by which claims live and end."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        return cursor.fetchone()[0]


def renew_every(listed: Queue) -> timedelta:
    """Return how often an open page renews: three times a lease, so that one lost request does no harm."""
    return listed.claims.lease / 3
