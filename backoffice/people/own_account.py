"""What people change about themselves: language, time zone, password."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from backoffice import clock
from backoffice.commands import Actor, Outcome, command
from backoffice.errors import Refusal
from backoffice.people import signing_in
from backoffice.tenants.models import User, check_time_zone

PERMISSION = "tenants.own_account"


@command("person.choose", permission=PERMISSION)
def choose(*, actor: Actor, language: str, time_zone: str, name: str) -> Outcome:
    """Set one's own name, language and time zone; an empty zone is the company's, an empty language the browser's."""
    assert actor.user is not None  # no system may run it
    if language and language not in dict(settings.LANGUAGES):
        raise Refusal("bad-language", _("Choose a language from the list."))
    name = " ".join(name.split())
    if not name or len(name) > 200:
        raise Refusal("no-name", _("Say your name: colleagues see it beside what you do."))
    try:
        if time_zone:
            check_time_zone(time_zone)
    except ValidationError as error:
        raise Refusal("bad-time-zone", error.messages[0]) from None
    User.objects.filter(pk=actor.user.pk).update(language=language, time_zone=time_zone, name=name)
    return Outcome(target=f"person:{actor.user.pk}")


@command("person.change-password", permission=PERMISSION, secret=("current", "new"))
def change_password(*, actor: Actor, current: str, new: str) -> Outcome:
    """Set one's own password; every other session ends, because a session is bound to it."""
    assert actor.user is not None  # no system may run it
    person = User.objects.select_for_update().get(pk=actor.user.pk)
    if not person.check_password(current):
        raise Refusal("wrong-password", _("That is not your current password."))
    try:
        validate_password(new, person)
    except ValidationError as error:
        raise Refusal("weak-password", " ".join(error.messages)) from None
    person.set_password(new)
    person.save(update_fields=["password"])
    return Outcome(target=f"person:{person.pk}")


def locked(*, person: User) -> bool:
    """Say whether wrong passwords have closed the address for now, here as at the sign-in."""
    return signing_in.locked_until(address=person.email, now=clock.now()) is not None
