"""Tenants, people and their memberships; the base of every model that belongs to a tenant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, TypeVar
from zoneinfo import available_timezones

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models.functions import Lower
from django.utils.translation import gettext_lazy as _

from backoffice import money
from backoffice.errors import NoTenantScope
from backoffice.tenants import roles, scope

PLATFORM_ID = 1
PLATFORM_SLUG = "platform"


def check_time_zone(name: str) -> None:
    """Accept an IANA time zone's name only."""
    if name not in available_timezones():
        raise ValidationError(_("%(name)s is not a time zone.") % {"name": name})


def check_currency(code: str) -> None:
    """Accept an ISO 4217 currency's code only."""
    if code not in money.CURRENCIES:
        raise ValidationError(_("%(code)s is not a currency.") % {"code": code})


class Tenant(models.Model):
    """A company. Its slug is its address and its path in storage, so it never changes.

    `currency` is the one that its reference rates are stated against.
    """

    slug = models.SlugField(max_length=40, unique=True)
    name = models.CharField(max_length=200)
    time_zone = models.CharField(max_length=64, default="UTC", validators=[check_time_zone])
    currency = models.CharField(max_length=3, default="EUR", db_default="EUR", validators=[check_currency])
    demo = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["slug"]

    def __str__(self) -> str:
        return self.name

    @property
    def is_platform(self) -> bool:
        return self.pk == PLATFORM_ID


def _bound(known: str, number: int) -> str:
    return f"{known}.{number}" if number else known


class UserManager(BaseUserManager["User"]):
    """Find people by address, whatever its case."""

    def get_by_natural_key(self, username: str | None) -> User:
        return self.get(email__iexact=username)


class User(AbstractBaseUser):
    """A person. What they may do depends on the open tenant: there is no superuser."""

    email = models.EmailField(unique=True)
    name = models.CharField(max_length=200)
    # Empty: the tenant's zone, the browser's language.
    time_zone = models.CharField(max_length=64, blank=True, default="", validators=[check_time_zone])
    language = models.CharField(max_length=12, blank=True, default="", db_default="")
    session_number = models.PositiveIntegerField(default=0, db_default=0)
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = ["name"]
    is_staff = False
    is_superuser = False

    objects = UserManager()

    class Meta:
        ordering = ["email"]
        constraints = [models.UniqueConstraint(Lower("email"), name="tenants_user_email_lower")]

    def __str__(self) -> str:
        return self.name or self.email

    @property
    def zone(self) -> str:
        """The person's own time zone, else that of the open tenant."""
        if self.time_zone:
            return self.time_zone
        try:
            return scope.current().time_zone
        except NoTenantScope:
            return "UTC"

    def get_session_auth_hash(self) -> str:
        """Bind sessions to the password and to a number: raising it ends every session."""
        return _bound(super().get_session_auth_hash(), self.session_number)

    def get_session_auth_fallback_hash(self) -> Iterator[str]:
        for known in super().get_session_auth_fallback_hash():
            yield _bound(known, self.session_number)

    def get_short_name(self) -> str:
        return str(self)

    def has_perm(self, permission: str, obj: object = None) -> bool:
        """Say whether this person's roles in the open tenant grant the permission; no scope, no permission."""
        return self.is_active and permission in self.permissions()

    def has_perms(self, permissions: Iterable[str], obj: object = None) -> bool:
        return all(self.has_perm(permission, obj) for permission in permissions)

    def has_module_perms(self, app_label: str) -> bool:
        return self.is_active and any(p.startswith(f"{app_label}.") for p in self.permissions())

    def permissions(self) -> frozenset[str]:
        """Return the permissions of this person in the open tenant; none without a scope."""
        try:
            return roles.permissions(self.roles_here() or [])
        except NoTenantScope:
            return frozenset()

    def roles_here(self) -> list[str] | None:
        """Return this person's roles in the open tenant, None for no member; read once per scope and instance."""
        tenant = scope.current()
        known: dict[int, list[str] | None] = self.__dict__.setdefault("_roles", {})
        if tenant.pk not in known:
            known[tenant.pk] = Membership.objects.filter(user=self, active=True).values_list("roles", flat=True).first()
        return known[tenant.pk]


M = TypeVar("M", bound=models.Model)


class TenantManager(models.Manager[M]):
    """Hold every query to the open tenant; raise outside a scope."""

    def get_queryset(self) -> models.QuerySet[M]:
        tenant = scope.tenant_filter()
        rows = super().get_queryset()
        return rows if tenant is None else rows.filter(tenant_id=tenant.pk)


class TenantModel(models.Model):
    """Belong to a tenant, and to no other. The base manager is scoped too: related look-ups use it."""

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")

    objects: ClassVar[TenantManager[Any]] = TenantManager()

    class Meta:
        abstract = True
        base_manager_name = "objects"


class Membership(TenantModel):
    """A person's roles in one tenant, none while it is not active.

    Claiming locks this row, so that no cap can be raced.
    """

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    roles = ArrayField(models.CharField(max_length=20))
    active = models.BooleanField(default=True, db_default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta(TenantModel.Meta):
        constraints = [
            models.UniqueConstraint(fields=["tenant", "user"], name="tenants_one_membership"),
            models.CheckConstraint(
                condition=models.Q(roles__contained_by=list(roles.ROLES)) & ~models.Q(roles=[]),
                name="tenants_known_roles",
            ),
            models.CheckConstraint(
                condition=~models.Q(roles__contains=[roles.OPERATOR]) | models.Q(tenant_id=PLATFORM_ID),
                name="tenants_operator_on_platform_only",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} in {self.tenant_id}: {', '.join(self.roles)}"
