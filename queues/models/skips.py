"""Skips: items that one person has put behind for a while."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from backoffice.tenants.models import TenantModel


class ItemSkip(TenantModel):
    """One person's wish not to be given one item until an instant; others are still given it.

    `model` and `item` name the item as the audit does ("payout", 17). A skip that is over has no
    effect, and the person's next skip of the same item takes its row.
    """

    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)
    model = models.CharField(max_length=40)
    item = models.BigIntegerField()
    until = models.DateTimeField()

    class Meta(TenantModel.Meta):
        constraints = [models.UniqueConstraint(fields=["tenant", "person", "model", "item"], name="queues_one_skip")]
        indexes = [models.Index(fields=["until"], name="queues_skip_until")]

    def __str__(self) -> str:
        return f"{self.person_id} skips {self.model}:{self.item}"
