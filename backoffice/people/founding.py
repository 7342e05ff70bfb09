"""Commands that make tenants and let people in."""

from __future__ import annotations

import re

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.utils.translation import gettext_lazy as _

from backoffice.commands import Actor, Outcome, command
from backoffice.errors import Refusal
from backoffice.tenants import roles as known
from backoffice.tenants import scope
from backoffice.tenants.models import Membership, Tenant, User, check_currency, check_time_zone


@command("tenant.create", permission="tenants.create_tenant", systems=("shell", "demo"))
def create_tenant(
    *, actor: Actor, slug: str, name: str, time_zone: str = "UTC", currency: str = "EUR", demo: bool = False
) -> Outcome:
    """Create a tenant; runs in the platform's scope. Its slug never changes."""
    if not scope.current().is_platform:
        raise Refusal("platform-only", _("Tenants are created from the platform tenant."))
    if not re.fullmatch(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?", slug):
        raise Refusal("bad-slug", _("A tenant's address has 1 to 40 lower-case letters, digits and hyphens."))
    if Tenant.objects.filter(slug=slug).exists():
        raise Refusal("slug-taken", _("This address is taken."))
    try:
        check_time_zone(time_zone)
    except ValidationError as error:
        raise Refusal("bad-time-zone", error.messages[0]) from None
    try:
        check_currency(currency)
    except ValidationError as error:
        raise Refusal("bad-currency", error.messages[0]) from None
    tenant = Tenant.objects.create(slug=slug, name=name, time_zone=time_zone, currency=currency, demo=demo)
    return Outcome(target=f"tenant:{tenant.slug}", data={"id": tenant.pk})


@command("person.invite", permission="tenants.manage_people", systems=("shell", "demo"), secret=("password",))
def invite_person(*, actor: Actor, email: str, name: str, roles: list[str], password: str) -> Outcome:
    """Give a person these roles in the open tenant; a new address becomes a new person with this password."""
    email = email.strip().lower()
    try:
        validate_email(email)
    except ValidationError as error:
        raise Refusal("bad-address", error.messages[0]) from None
    unknown = sorted(set(roles) - set(known.ROLES))
    if unknown or not roles:
        raise Refusal("unknown-role", _("Choose from these roles: %s.") % ", ".join(known.ROLES))
    if known.OPERATOR in roles and not scope.current().is_platform:
        raise Refusal("operator-elsewhere", _("An operator belongs to the platform tenant only."))
    person = User.objects.filter(email__iexact=email).first()
    if person is None:
        person = User(email=email, name=name)
        try:
            validate_password(password, person)
        except ValidationError as error:
            raise Refusal("weak-password", " ".join(error.messages)) from None
        person.set_password(password)
        person.save()
    Membership.objects.update_or_create(
        tenant=scope.current(), user=person, defaults={"roles": sorted(set(roles), key=known.ROLES.index)}
    )
    return Outcome(target=f"person:{person.pk}", data={"email": email, "roles": roles})
