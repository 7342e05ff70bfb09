"""Invite by link: a token that is shown once, serves once and ends by itself.

Whoever holds the link learns the company's name and the invited address, nothing else; without a
token that serves, every link reads the same.
"""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime, timedelta

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from backoffice import clock, commands, livesettings
from backoffice.commands import Actor, Outcome, command
from backoffice.errors import Refusal
from backoffice.people.models import Invitation
from backoffice.tenants import roles as known
from backoffice.tenants import scope
from backoffice.tenants.models import Membership, User

_SERVES = Q(accepted_at__isnull=True, revoked_at__isnull=True)


def invite(*, actor: Actor, email: str, roles: list[str], key: str) -> str:
    """Return the token of a new invitation; an open one for the same address ends."""
    token = secrets.token_urlsafe(32)
    commands.dispatch(
        create_invitation, actor=actor, key=key, email=email.strip().lower(), roles=roles, token_hash=_hash(token)
    )
    return token


def resend(*, actor: Actor, invitation: int, key: str) -> str:
    """Return the token of a new link for an open invitation, ended by time or not; the old link ends."""
    token = secrets.token_urlsafe(32)
    commands.dispatch(renew_invitation, actor=actor, key=key, invitation=invitation, token_hash=_hash(token))
    return token


def waiting() -> QuerySet[Invitation]:
    """Return the open tenant's invitations that nobody used or withdrew, those ended by time included."""
    return Invitation.objects.filter(_SERVES).select_related("invited_by", "tenant").order_by("email")


def find(*, token: str, now: datetime) -> Invitation | None:
    """Return the invitation that the token opens, with its tenant; None for any that does not serve."""
    with scope.unscoped(reason="the token of an invitation names its tenant"):
        rows = Invitation.objects.select_related("tenant").filter(_SERVES, token_hash=_hash(token), expires_at__gt=now)
        return rows.first()


def accept(*, invitation: Invitation, name: str, password: str, member: User | None, key: str) -> None:
    """Let the invited person in: a new one with this name and password, or the one who is signed in."""
    with scope.open(invitation.tenant):
        commands.dispatch(
            accept_invitation,
            actor=Actor.system("invitation", acting_for=f"invitation:{invitation.pk}"),
            key=key,
            invitation=invitation.pk,
            name=name,
            password=password,
            member=member.pk if member else 0,
        )


def check_roles(roles: list[str]) -> list[str]:
    """Return the roles in their order, or refuse those that do not exist or do not belong here."""
    if not roles or set(roles) - set(known.ROLES):
        raise Refusal("unknown-role", _("Choose at least one role."))
    if known.OPERATOR in roles and not scope.current().is_platform:
        raise Refusal("operator-elsewhere", _("An operator belongs to the platform tenant only."))
    return sorted(set(roles), key=known.ROLES.index)


@command("invitation.create", permission="tenants.manage_people")
def create_invitation(*, actor: Actor, email: str, roles: list[str], token_hash: str) -> Outcome:
    """Invite the address with these roles."""
    assert actor.user is not None  # no system may run it
    try:
        validate_email(email)
    except ValidationError as error:
        raise Refusal("bad-address", error.messages[0]) from None
    if Membership.objects.filter(user__email__iexact=email).exists():
        raise Refusal("member-already", _("This person is here already: change the roles, or reactivate them."))
    now = clock.now()
    Invitation.objects.filter(_SERVES, email=email).update(revoked_at=now)
    made = Invitation.objects.create(
        tenant=scope.current(),
        email=email,
        roles=check_roles(roles),
        token_hash=token_hash,
        invited_by=actor.user,
        expires_at=now + timedelta(hours=livesettings.get("people.invitation_hours")),
    )
    return Outcome(target=f"invitation:{made.pk}", data={"email": email})


@command("invitation.renew", permission="tenants.manage_people")
def renew_invitation(*, actor: Actor, invitation: int, token_hash: str) -> Outcome:
    """Give an open invitation a new link and its whole time again; whoever asks becomes the one who invites."""
    found = waiting().select_for_update(of=("self",)).filter(pk=invitation).first()
    if found is None:
        raise Refusal("gone", _("This invitation was used or ended already."))
    if Membership.objects.filter(user__email__iexact=found.email).exists():
        raise Refusal("member-already", _("This person is here already: change the roles, or reactivate them."))
    check_roles(found.roles)
    until = clock.now() + timedelta(hours=livesettings.get("people.invitation_hours"))
    Invitation.objects.filter(pk=found.pk).update(
        token_hash=token_hash, expires_at=until, mailed_at=None, invited_by=actor.user
    )
    return Outcome(target=f"invitation:{found.pk}", data={"email": found.email})


@command("invitation.mailed", permission="tenants.manage_people")
def note_mailed(*, actor: Actor, invitation: int) -> Outcome:
    """Record that a mail server took the link that serves now."""
    Invitation.objects.filter(_SERVES, pk=invitation).update(mailed_at=clock.now())
    return Outcome(target=f"invitation:{invitation}")


@command("invitation.revoke", permission="tenants.manage_people")
def revoke_invitation(*, actor: Actor, invitation: int) -> Outcome:
    """End an invitation that nobody used yet."""
    if not Invitation.objects.filter(_SERVES, pk=invitation).update(revoked_at=clock.now()):
        raise Refusal("gone", _("This invitation was used or ended already."))
    return Outcome(target=f"invitation:{invitation}")


@command("invitation.accept", systems=("invitation",), secret=("password",))
def accept_invitation(*, actor: Actor, invitation: int, name: str, password: str, member: int) -> Outcome:
    """Use the invitation up and give its person the roles; an existing person comes signed in."""
    now = clock.now()
    rows = Invitation.objects.filter(_SERVES, pk=invitation, expires_at__gt=now)
    found = rows.select_for_update(of=("self",)).select_related("invited_by").first()
    if found is None or not found.invited_by.has_perm("tenants.manage_people"):
        raise Refusal("gone", _("This invitation does not serve any more. Ask for a new one."))
    person = User.objects.filter(email__iexact=found.email).first()
    if person is not None and person.pk != member:
        raise Refusal("sign-in-first", _("This address has an account: sign in with it, then open the link again."))
    if person is None:
        person = _new_person(found.email, name, password)
    Membership.objects.update_or_create(
        tenant=scope.current(), user=person, defaults={"roles": check_roles(found.roles), "active": True}
    )
    rows.update(accepted_at=now)
    return Outcome(target=f"person:{person.pk}", data={"email": found.email, "roles": found.roles})


def _new_person(email: str, name: str, password: str) -> User:
    name = " ".join(name.split())[:200]
    if not name:
        raise Refusal("no-name", _("Say your name: colleagues see it beside what you do."))
    person = User(email=email, name=name)
    try:
        validate_password(password, person)
    except ValidationError as error:
        raise Refusal("weak-password", " ".join(error.messages)) from None
    person.set_password(password)
    person.save()
    return person


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
