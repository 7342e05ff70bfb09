"""Invitations into a tenant."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from backoffice.tenants.models import TenantModel


class Invitation(TenantModel):
    """One address invited with these roles. Only the hash of its link's token is kept; it serves once."""

    email = models.EmailField()
    roles = ArrayField(models.CharField(max_length=20))
    token_hash = models.CharField(max_length=64, unique=True)
    invited_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    mailed_at = models.DateTimeField(null=True)  # when a mail server took the link that serves now

    class Meta(TenantModel.Meta):
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "email"],
                condition=Q(accepted_at__isnull=True, revoked_at__isnull=True),
                name="people_one_open_invitation",
            )
        ]

    def __str__(self) -> str:
        return self.email
