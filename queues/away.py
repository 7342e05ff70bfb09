"""Who takes no shared-out work for a while: said by the person, or by a supervisor.

It counts for every queue of the tenant. A named hand still reaches somebody who is away, and the page that
offers it says so; what is shared out in turn passes them over.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models.functions import Now
from django.utils.translation import gettext as _

from backoffice import commands
from backoffice.commands import Actor, Outcome, command
from backoffice.errors import NotPermitted, Refusal
from backoffice.tenants import scope
from backoffice.tenants.models import Membership
from queues import claiming
from queues.models import Absence

LONGEST = timedelta(days=366)
MAX_NOTE = 200


def leave(*, actor: Actor, person: int, until: datetime | None, note: str, key: str) -> Outcome:
    """Say that a person takes nothing until an instant, or until somebody ends it."""
    instant = until.isoformat() if until else None
    ruled = _act(actor, person, leave_self, leave_other)
    return commands.dispatch(ruled, actor=actor, key=key, person=person, until=instant, note=note)


def come_back(*, actor: Actor, person: int, key: str) -> Outcome:
    """Say that a person takes work again."""
    return commands.dispatch(_act(actor, person, return_self, return_other), actor=actor, key=key, person=person)


@command("person.away", permission="queues.claim", target="person:{person}")
def leave_self(*, actor: Actor, person: int, until: str | None, note: str) -> Outcome:
    """Take nothing for a while oneself."""
    _own(actor, person)
    return _leave(actor, person, until, note)


@command("person.set-away", permission="queues.supervise", target="person:{person}")
def leave_other(*, actor: Actor, person: int, until: str | None, note: str) -> Outcome:
    """Let somebody take nothing for a while; a supervisor's act."""
    return _leave(actor, person, until, note)


@command("person.back", permission="queues.claim", target="person:{person}")
def return_self(*, actor: Actor, person: int) -> Outcome:
    """Take work again oneself."""
    _own(actor, person)
    return _return(person)


@command("person.set-back", permission="queues.supervise", target="person:{person}")
def return_other(*, actor: Actor, person: int) -> Outcome:
    """Let somebody take work again; a supervisor's act."""
    return _return(person)


def _leave(actor: Actor, person: int, until: str | None, note: str) -> Outcome:
    assert actor.user is not None  # the commands name no system
    if not Membership.objects.filter(user_id=person, active=True, user__is_active=True).exists():
        raise Refusal("not-a-colleague", _("Choose a person who works here."))
    kept = note.strip()
    if len(kept) > MAX_NOTE:
        raise Refusal("note-too-long", _("A note has at most %(max)d characters.") % {"max": MAX_NOTE})
    instant = datetime.fromisoformat(until) if until else None
    now = claiming.database_now()
    if instant is not None and instant <= now:
        raise Refusal("past", _("That time is over already. Choose a later one."))
    if instant is not None and instant > now + LONGEST:
        raise Refusal("too-far", _("Choose a time within a year, or leave it open."))
    said = {"until": instant, "note": kept, "set_by": actor.user, "since": Now()}
    Absence.objects.update_or_create(tenant=scope.current(), person_id=person, defaults=said)
    return Outcome(target=f"person:{person}", data={"until": until, "note": kept})


def _return(person: int) -> Outcome:
    ended, _by_model = Absence.objects.filter(person_id=person).delete()
    if not ended:
        raise Refusal("not-away", _("This person takes work already."))
    return Outcome(target=f"person:{person}")


def _act(actor: Actor, person: int, own: commands.Command, others: commands.Command) -> commands.Command:
    return own if actor.user is not None and actor.user.pk == person else others


def _own(actor: Actor, person: int) -> None:
    if actor.user is None or actor.user.pk != person:
        raise NotPermitted("not-permitted", _("You may say this of yourself alone."))
