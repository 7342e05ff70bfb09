"""The double-entry ledger: append-only, and each transfer's entries sum to zero in each currency."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from backoffice.tenants.models import TenantModel
from queues.money.models.plans import PlanLine


class Account(TenantModel):
    """One account of a tenant in one currency."""

    class Code(models.TextChoices):
        PAYABLES = "payables"
        CASH = "cash"

    code = models.CharField(max_length=20, choices=Code)
    currency = models.CharField(max_length=3)

    class Meta(TenantModel.Meta):
        constraints = [
            models.UniqueConstraint(fields=["tenant", "code", "currency"], name="money_one_account"),
            models.CheckConstraint(condition=Q(currency__regex=r"^[A-Z]{3}$"), name="money_account_currency"),
        ]

    def __str__(self) -> str:
        return f"{self.code} {self.currency}"


class Transfer(TenantModel):
    """One movement of money, once under its key."""

    key = models.CharField(max_length=100)
    line = models.OneToOneField(PlanLine, on_delete=models.PROTECT, related_name="transfer")
    at = models.DateTimeField(db_default=Now())

    class Meta(TenantModel.Meta):
        constraints = [models.UniqueConstraint(fields=["tenant", "key"], name="money_one_transfer")]

    def __str__(self) -> str:
        return self.key


class Entry(TenantModel):
    """One side of a transfer: a debit is above zero, a credit below."""

    transfer = models.ForeignKey(Transfer, on_delete=models.PROTECT, related_name="entries")
    account = models.ForeignKey(Account, on_delete=models.PROTECT, related_name="entries")
    amount = models.DecimalField(max_digits=20, decimal_places=4)

    class Meta(TenantModel.Meta):
        constraints = [
            models.UniqueConstraint(fields=["transfer", "account"], name="money_one_entry"),
            models.CheckConstraint(condition=~Q(amount=0), name="money_entry_amount"),
        ]

    def __str__(self) -> str:
        return f"{self.account_id} {self.amount}"
