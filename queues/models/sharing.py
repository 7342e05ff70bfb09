"""Sharing out: whose turn it is in a queue, and who takes nothing for a while."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from backoffice.tenants.models import TenantModel


class Rotation(TenantModel):
    """Whose turn comes next in a queue: the first at or after `head`, in the order of joining the tenant."""

    queue = models.CharField(max_length=60)
    head = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+", db_index=False
    )

    class Meta(TenantModel.Meta):
        constraints = [models.UniqueConstraint(fields=["tenant", "queue"], name="queues_one_rotation")]

    def __str__(self) -> str:
        return f"{self.queue}: {self.head_id}"


class Absence(TenantModel):
    """A person takes no shared-out work in the tenant, until an instant or until somebody ends it."""

    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)
    until = models.DateTimeField(null=True)
    note = models.CharField(max_length=200, blank=True, db_default="")
    since = models.DateTimeField(db_default=Now())
    set_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", db_index=False)

    class Meta(TenantModel.Meta):
        constraints = [models.UniqueConstraint(fields=["tenant", "person"], name="queues_one_absence")]

    def __str__(self) -> str:
        return f"{self.person_id} until {self.until}"
