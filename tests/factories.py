"""Make what tests need, by keyword, with unique names."""

from __future__ import annotations

from itertools import count

from backoffice.tenants import scope
from backoffice.tenants.models import Membership, Tenant, User

_numbers = count(1)


def make_tenant(
    *, slug: str = "", name: str = "", time_zone: str = "UTC", currency: str = "EUR", demo: bool = False
) -> Tenant:
    """Create a tenant."""
    slug = slug or f"tenant-{next(_numbers)}"
    return Tenant.objects.create(
        slug=slug, name=name or slug.title(), time_zone=time_zone, currency=currency, demo=demo
    )


def make_person(
    *, tenant: Tenant, roles: tuple[str, ...] = ("staff",), email: str = "", name: str = "", password: str = ""
) -> User:
    """Create a person with these roles in the tenant; a password only where a test signs in with it."""
    email = email or f"person-{next(_numbers)}@example.com"
    person = User(email=email, name=name or email.split("@")[0].title())
    if password:
        person.set_password(password)
    else:
        person.set_unusable_password()
    person.save()
    with scope.open(tenant):
        Membership.objects.create(tenant=tenant, user=person, roles=list(roles))
    return person
