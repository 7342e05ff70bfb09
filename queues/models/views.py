"""Views of a queue that people keep: its filters and columns under a name."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from backoffice.tenants.models import TenantModel


class SavedView(TenantModel):
    """One view: a person's own, or shared with everybody who sees the queue. A name is unique among either."""

    queue = models.CharField(max_length=60)
    name = models.CharField(max_length=60)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    shared = models.BooleanField(db_default=False)
    filters = models.JSONField(default=dict)
    columns = ArrayField(models.CharField(max_length=60), default=list)
    created_at = models.DateTimeField(db_default=Now())

    class Meta(TenantModel.Meta):
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "queue", "owner", "name"], condition=Q(shared=False), name="queues_own_view_name"
            ),
            models.UniqueConstraint(
                fields=["tenant", "queue", "name"], condition=Q(shared=True), name="queues_shared_view_name"
            ),
        ]

    def __str__(self) -> str:
        return self.name
