"""Devices, the codes that let a person enrol one, the throttle, and what a right code gives."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from backoffice.tenants.models import TenantModel


class Device(TenantModel):
    """A person's authenticator in one tenant. `last_step` only rises: that is what spends a code."""

    class State(models.TextChoices):
        PENDING = "pending"
        ACTIVE = "active"
        REMOVED = "removed"

    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=60)
    sealed_secret = models.TextField()
    state = models.CharField(max_length=10, choices=State, default=State.PENDING)
    last_step = models.BigIntegerField(default=0)
    created_at = models.DateTimeField(db_default=Now())
    usable_at = models.DateTimeField(null=True)
    removed_at = models.DateTimeField(null=True)

    class Meta(TenantModel.Meta):
        ordering = ["id"]
        indexes = [models.Index(fields=["tenant", "person", "state"], name="stepup_devices_of")]
        constraints = [
            models.CheckConstraint(
                condition=Q(state="pending") | Q(usable_at__isnull=False) | Q(state="removed"),
                name="stepup_active_has_usable_at",
            ),
            models.CheckConstraint(
                condition=Q(state="removed", removed_at__isnull=False) | (~Q(state="removed") & Q(removed_at=None)),
                name="stepup_removed_has_instant",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class EnrolmentCode(TenantModel):
    """Another person's word that this person may enrol a first device: hashed, expiring, used once."""

    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    issued_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    code_hash = models.CharField(max_length=64)
    created_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    class Meta(TenantModel.Meta):
        indexes = [models.Index(fields=["tenant", "person", "-id"], name="stepup_codes_of")]
        constraints = [
            models.CheckConstraint(condition=~Q(person=F("issued_by")), name="stepup_code_from_another_person")
        ]

    def __str__(self) -> str:
        return f"enrolment code {self.pk}"


class Throttle(TenantModel):
    """How many tries of one kind a person failed in a row, and when the next one is allowed."""

    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    purpose = models.CharField(max_length=20)
    failures = models.PositiveIntegerField(default=0)
    next_allowed_at = models.DateTimeField()

    class Meta(TenantModel.Meta):
        constraints = [
            models.UniqueConstraint(fields=["tenant", "person", "purpose"], name="stepup_one_throttle"),
        ]

    def __str__(self) -> str:
        return f"{self.purpose}: {self.failures}"


class StepUp(TenantModel):
    """A right code, bound to one person, one plan and its digest. Consumed once, or never."""

    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    device = models.ForeignKey(Device, on_delete=models.PROTECT, related_name="+")
    plan_id = models.BigIntegerField()
    digest = models.CharField(max_length=64)
    step = models.BigIntegerField()
    created_at = models.DateTimeField(db_default=Now())
    consumed_at = models.DateTimeField(null=True)

    class Meta(TenantModel.Meta):
        constraints = [models.UniqueConstraint(fields=["device", "step"], name="stepup_one_per_code")]

    def __str__(self) -> str:
        return f"step-up {self.pk}"


class Removal(TenantModel):
    """The removal of a lost device: one person asks, another agrees, and neither is its owner."""

    device = models.OneToOneField(Device, on_delete=models.PROTECT, related_name="removal")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    agreed_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", null=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta(TenantModel.Meta):
        constraints = [
            models.CheckConstraint(
                condition=~Q(owner=F("asked_by")) & (Q(agreed_by=None) | ~Q(agreed_by=F("owner"))),
                name="stepup_removal_not_by_owner",
            ),
            models.CheckConstraint(
                condition=Q(agreed_by=None) | ~Q(agreed_by=F("asked_by")), name="stepup_removal_by_two"
            ),
        ]

    def __str__(self) -> str:
        return f"removal of device {self.device_id}"
