"""Receipts: what makes a command happen once under its key."""

from __future__ import annotations

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models.functions import Now

from backoffice.tenants.models import TenantModel


class Receipt(TenantModel):
    """The stored outcome of one command under one key. Only success leaves one."""

    command = models.CharField(max_length=100)
    key = models.CharField(max_length=200)
    actor = models.CharField(max_length=260)
    fingerprint = models.CharField(max_length=64)
    outcome = models.JSONField(null=True, encoder=DjangoJSONEncoder)
    created_at = models.DateTimeField(db_default=Now())

    class Meta(TenantModel.Meta):
        constraints = [models.UniqueConstraint(fields=["tenant", "command", "key"], name="commands_one_receipt")]
        indexes = [models.Index(fields=["created_at"], name="commands_receipt_age")]

    def __str__(self) -> str:
        return f"{self.command} {self.key}"
