"""Plans: the frozen preview of a bulk money action, and what became of each line."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from backoffice.tenants.models import TenantModel


class Plan(TenantModel):
    """A frozen selection that a code confirms. `confirmed_by` gave the first code, `approved_by` the second.

    A draft past `expires_at` is expired; that is decided when it is read.
    """

    class State(models.TextChoices):
        DRAFT = "draft"
        CONFIRMED = "confirmed"
        RUNNING = "running"
        DONE = "done"
        CANCELLED = "cancelled"

    EXPIRED = "expired"
    STARTED = (State.CONFIRMED.value, State.RUNNING.value, State.DONE.value)

    action = models.CharField(max_length=100)
    state = models.CharField(max_length=10, choices=State, default=State.DRAFT)
    digest = models.CharField(max_length=64)
    totals = models.JSONField(default=list, encoder=DjangoJSONEncoder)
    line_count = models.PositiveIntegerField()
    exclusion_count = models.PositiveIntegerField()
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    requested_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField()
    four_eyes = models.BooleanField(default=False)
    confirmed_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", null=True)
    confirmed_at = models.DateTimeField(null=True)
    approved_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", null=True)
    approved_at = models.DateTimeField(null=True)
    job_id = models.BigIntegerField(null=True)
    settled_at = models.DateTimeField(null=True)
    settled_reason = models.CharField(max_length=300, blank=True)

    class Meta(TenantModel.Meta):
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["tenant", "-id"], name="money_plan_list"),
            models.Index(fields=["tenant", "confirmed_at"], name="money_plan_confirmed"),
            models.Index(fields=["job_id"], condition=Q(state__in=["confirmed", "running"]), name="money_plan_open"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(approved_by=None) | (~Q(approved_by=F("requested_by")) & ~Q(approved_by=F("confirmed_by"))),
                name="money_plan_approver_is_another",
            ),
            models.CheckConstraint(
                condition=Q(four_eyes=False) | Q(approved_by__isnull=False) | Q(state__in=["draft", "cancelled"]),
                name="money_plan_four_eyes",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["draft", "cancelled"])
                | Q(confirmed_by__isnull=False, confirmed_at__isnull=False, job_id__isnull=False),
                name="money_plan_confirmed_by_a_code",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["done", "cancelled"], settled_at__isnull=False)
                | (~Q(state__in=["done", "cancelled"]) & Q(settled_at=None)),
                name="money_plan_settled",
            ),
        ]

    def __str__(self) -> str:
        return f"plan {self.pk}"

    @property
    def target(self) -> str:
        """The plan's name in the audit: "plan:17"."""
        return f"plan:{self.pk}"

    @property
    def short_digest(self) -> str:
        """The digest's first characters, as people compare them."""
        return " ".join(self.digest[i : i + 4] for i in range(0, 12, 4))

    def state_at(self, now: datetime) -> str:
        """Return the state at this instant: a draft past its expiry is expired."""
        return self.EXPIRED if self.state == self.State.DRAFT and self.expires_at <= now else self.state


class PlanLine(TenantModel):
    """One item's effect, frozen; only its state and outcome change, and a final state never does."""

    class State(models.TextChoices):
        PLANNED = "planned"
        SENDING = "sending"
        DONE = "done"
        REFUSED = "refused"
        UNKNOWN = "unknown"
        NOT_STARTED = "not_started"

    plan = models.ForeignKey(Plan, on_delete=models.PROTECT, related_name="lines")
    position = models.PositiveIntegerField()
    item_id = models.BigIntegerField()
    reference = models.CharField(max_length=80)
    payee = models.CharField(max_length=200)
    account = models.CharField(max_length=80)
    amount = models.DecimalField(max_digits=20, decimal_places=4)
    currency = models.CharField(max_length=3)
    money_version = models.PositiveIntegerField()
    state = models.CharField(max_length=12, choices=State, db_default=State.PLANNED)
    code = models.CharField(max_length=60, blank=True, db_default="")
    words = models.CharField(max_length=300, blank=True, db_default="")
    rail_reference = models.CharField(max_length=100, blank=True, db_default="")
    settled_at = models.DateTimeField(null=True)

    class Meta(TenantModel.Meta):
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["plan", "position"], name="money_line_position"),
            models.UniqueConstraint(fields=["plan", "item_id"], name="money_line_item"),
            models.CheckConstraint(condition=Q(amount__gt=0), name="money_line_amount"),
            models.CheckConstraint(
                condition=Q(state__in=["planned", "sending", "unknown"], settled_at=None)
                | Q(state__in=["done", "refused", "not_started"], settled_at__isnull=False),
                name="money_line_settled",
            ),
        ]

    def __str__(self) -> str:
        return f"plan {self.plan_id} line {self.position}"

    @property
    def key(self) -> str:
        """The idempotency key of the line's one effect."""
        return f"plan:{self.plan_id}:{self.position}"

    def facts(self) -> dict[str, Any]:
        """Return what the digest covers."""
        names = ("item_id", "reference", "payee", "account", "amount", "currency", "money_version")
        return {name: getattr(self, name) for name in names}


class Exclusion(TenantModel):
    """A selected item that the plan leaves out, with its reason."""

    plan = models.ForeignKey(Plan, on_delete=models.PROTECT, related_name="exclusions")
    item_id = models.BigIntegerField()
    reference = models.CharField(max_length=80)
    amount = models.DecimalField(max_digits=20, decimal_places=4, null=True)
    currency = models.CharField(max_length=3, blank=True)
    code = models.CharField(max_length=60)
    words = models.CharField(max_length=300)

    class Meta(TenantModel.Meta):
        ordering = ["item_id"]
        constraints = [models.UniqueConstraint(fields=["plan", "item_id"], name="money_exclusion_item")]

    def __str__(self) -> str:
        return f"{self.reference}: {self.code}"
