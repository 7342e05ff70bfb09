"""A tenant's own reference rates: how amounts in different currencies compare."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q

from backoffice.tenants.models import TenantModel


class ReferenceRate(TenantModel):
    """One unit of `base` is worth `rate` units of `currency`, on this day, by this source (1 EUR = 1.08 USD)."""

    base = models.CharField(max_length=3)
    currency = models.CharField(max_length=3)
    as_of = models.DateField()
    rate = models.DecimalField(max_digits=20, decimal_places=10)
    source = models.CharField(max_length=100)

    class Meta(TenantModel.Meta):
        constraints = [
            models.UniqueConstraint(fields=["tenant", "base", "currency", "as_of"], name="rate_one_a_day"),
            models.CheckConstraint(condition=Q(rate__gt=0), name="rate_above_zero"),
            models.CheckConstraint(
                condition=Q(base__regex=r"^[A-Z]{3}$", currency__regex=r"^[A-Z]{3}$"), name="rate_currencies"
            ),
            models.CheckConstraint(condition=~Q(currency=F("base")), name="rate_of_another"),
        ]

    def __str__(self) -> str:
        return f"1 {self.base} = {self.rate.normalize():f} {self.currency} ({self.as_of}, {self.source})"
