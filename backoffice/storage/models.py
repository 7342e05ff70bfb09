"""Stored files."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models.functions import Now

from backoffice.tenants.models import TenantModel


class Artifact(TenantModel):
    """One stored file: where it lies, what it holds, who answers for it, and until when it lives.

    `needs` are the permissions a reader must hold. `manifest` says what was written and from when;
    `preview` is a small table shown beside a report, and goes with the object.
    """

    subject = models.CharField(max_length=80)
    object_key = models.CharField(max_length=300)
    filename = models.CharField(max_length=200)
    content_type = models.CharField(max_length=100)
    bytes = models.BigIntegerField()
    sha256 = models.CharField(max_length=64)
    rows = models.BigIntegerField()
    manifest = models.JSONField(default=dict, encoder=DjangoJSONEncoder)
    preview: models.JSONField[Any, Any] = models.JSONField(null=True, encoder=DjangoJSONEncoder)
    contact = models.CharField(max_length=200)
    needs = ArrayField(models.CharField(max_length=100))
    created_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField()
    removed_at = models.DateTimeField(null=True)
    removed_because = models.CharField(max_length=20, blank=True)

    class Meta(TenantModel.Meta):
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "object_key"], name="storage_one_artifact_a_key"),
            models.CheckConstraint(condition=models.Q(bytes__gte=0, rows__gte=0), name="storage_artifact_sizes"),
            models.CheckConstraint(
                condition=models.Q(expires_at__gt=models.F("created_at")), name="storage_artifact_lives"
            ),
            models.CheckConstraint(
                condition=models.Q(removed_at=None, removed_because="")
                | models.Q(removed_at__isnull=False, removed_because__in=["expired", "revoked"]),
                name="storage_artifact_removal_has_a_reason",
            ),
        ]
        indexes = [
            models.Index(
                fields=["tenant", "expires_at"], condition=models.Q(removed_at=None), name="storage_artifact_expiry"
            )
        ]

    def __str__(self) -> str:
        return self.filename

    @property
    def target(self) -> str:
        """Name this artifact in the audit trail."""
        return f"artifact:{self.pk}"

    def is_live(self, *, now: datetime) -> bool:
        """Say whether it can still be downloaded."""
        return self.removed_at is None and now < self.expires_at
