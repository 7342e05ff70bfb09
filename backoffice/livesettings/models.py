"""The values that operators changed."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from backoffice.tenants.models import TenantModel


class SettingValue(TenantModel):
    """A tenant's own value of a setting; the platform tenant's holds for all without one."""

    name = models.CharField(max_length=100)
    value = models.BigIntegerField()
    changed_at = models.DateTimeField(db_default=Now())

    class Meta(TenantModel.Meta):
        constraints = [models.UniqueConstraint(fields=["tenant", "name"], name="livesettings_one_value")]

    def __str__(self) -> str:
        return f"{self.name} = {self.value}"
