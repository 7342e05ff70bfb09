"""Change roles, deactivate, reactivate. Nobody does any of it to themselves, so nobody locks themselves out."""

from __future__ import annotations

from django.db.models import F
from django.utils.translation import gettext as _

from backoffice.commands import Actor, Outcome, command
from backoffice.errors import NotPermitted, Refusal
from backoffice.people import inviting, leaving
from backoffice.tenants.models import Membership, User

PERMISSION = "tenants.manage_people"


@command("person.change-roles", permission=PERMISSION, target="person:{person}")
def change_roles(*, actor: Actor, person: int, roles: list[str]) -> Outcome:
    """Give a colleague these roles instead of the ones they have; it holds from their next request."""
    member = _colleague(actor, person)
    before = member.roles
    Membership.objects.filter(pk=member.pk).update(roles=inviting.check_roles(roles))
    return Outcome(target=f"person:{person}", data={"before": before, "roles": roles})


@command("person.deactivate", permission=PERMISSION, target="person:{person}")
def deactivate(*, actor: Actor, person: int) -> Outcome:
    """Close the tenant to a colleague: sessions end at once, what they hold is free, the membership stays."""
    member = _colleague(actor, person)
    if not Membership.objects.filter(pk=member.pk, active=True).update(active=False):
        raise Refusal("inactive", _("This person is deactivated already."))
    User.objects.filter(pk=person).update(session_number=F("session_number") + 1)
    freed = leaving.free_everything(actor=actor, person=member.user)
    return Outcome(target=f"person:{person}", data={"freed": freed})


@command("person.reactivate", permission=PERMISSION, target="person:{person}")
def reactivate(*, actor: Actor, person: int) -> Outcome:
    """Open the tenant to a colleague again, with the roles they had."""
    member = _colleague(actor, person)
    if not Membership.objects.filter(pk=member.pk, active=False).update(active=True):
        raise Refusal("active", _("This person is active already."))
    return Outcome(target=f"person:{person}", data={"roles": member.roles})


def _colleague(actor: Actor, person: int) -> Membership:
    """Return the other member, locked with the actor's own row: of two who deactivate each other one is refused."""
    assert actor.user is not None  # no system may run these
    if actor.user.pk == person:
        raise Refusal("yourself", _("Not yourself: ask another supervisor, so that nobody locks themselves out."))
    both = Membership.objects.select_for_update(of=("self",)).select_related("user").order_by("pk")
    members = {member.user_id: member for member in both.filter(user_id__in=[actor.user.pk, person])}
    own = members.get(actor.user.pk)
    if own is None or not own.active:
        raise NotPermitted("not-permitted", _("You may not do this any more."))
    if person not in members:
        raise Refusal("gone", _("This person is not here."))
    return members[person]
