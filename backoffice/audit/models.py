"""One row an act."""

from __future__ import annotations

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models.functions import Now

from backoffice.tenants.models import Tenant, TenantModel


class AuditEvent(TenantModel):
    """An act that happened or was refused. It outlives what it speaks of, so it has no foreign keys."""

    class Outcome(models.TextChoices):
        DONE = "done"
        REFUSED = "refused"

    tenant = models.ForeignKey(Tenant, on_delete=models.DO_NOTHING, db_constraint=False, related_name="+")
    at = models.DateTimeField(db_default=Now())
    actor = models.CharField(max_length=200)
    actor_user_id = models.BigIntegerField(null=True)
    acting_for = models.CharField(max_length=200, blank=True)
    act = models.CharField(max_length=100)
    outcome = models.CharField(max_length=10, choices=Outcome)
    code = models.CharField(max_length=60, blank=True)
    target = models.CharField(max_length=120, blank=True)
    data = models.JSONField(default=dict, encoder=DjangoJSONEncoder)

    class Meta(TenantModel.Meta):
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["tenant", "target", "-id"], name="audit_by_target"),
            models.Index(fields=["tenant", "-id"], name="audit_by_time"),
            models.Index(fields=["tenant", "at"], name="audit_by_instant"),
        ]

    def __str__(self) -> str:
        return f"{self.actor} {self.act} {self.target} {self.outcome}"
