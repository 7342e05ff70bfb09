"""Payouts: money that a tenant owes and staff look at before finance releases it."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from queues.models.item import QueueItem, item_constraints, item_indexes


class Payout(QueueItem):
    """One sum for one payee. Staff approve, hold or return it; only a confirmed plan pays it.

    `money_version` is kept by a trigger of the database: it rises when the payee, account, amount,
    currency or payability (being approved) changes, and never otherwise. `plan_id` is set while a
    confirmed plan claims the payout; it has no foreign key because plans stand on payouts.
    A credit (an amount below zero) is never payable and never queued.
    """

    class State(models.TextChoices):
        PENDING = "pending"
        HELD = "held"
        RETURNED = "returned"
        APPROVED = "approved"
        PAID = "paid"
        CREDIT = "credit"

    OPEN: ClassVar[tuple[str, ...]] = (State.PENDING.value,)

    state = models.CharField(max_length=12, choices=State, default=State.PENDING)
    beneficiary = models.CharField(max_length=200)
    account = models.CharField(max_length=80)
    amount = models.DecimalField(max_digits=20, decimal_places=4)
    currency = models.CharField(max_length=3)
    description = models.CharField(max_length=300, blank=True, db_default="")
    date_missing = models.BooleanField(db_default=False, editable=False)
    money_version = models.PositiveIntegerField(db_default=1, editable=False)
    plan_id = models.BigIntegerField(null=True, editable=False)

    class Meta(QueueItem.Meta):
        abstract = False
        constraints = [
            *item_constraints(
                "payout",
                states=["pending", "held", "returned", "approved", "paid", "credit"],
                open_states=("pending",),
            ),
            models.CheckConstraint(
                condition=Q(state="credit", amount__lt=0) | (~Q(state="credit") & Q(amount__gt=0)),
                name="payout_credit_is_negative",
            ),
            models.CheckConstraint(condition=Q(currency__regex=r"^[A-Z]{3}$"), name="payout_currency"),
            models.CheckConstraint(
                condition=Q(plan_id__isnull=True) | Q(state__in=["approved", "paid"]), name="payout_planned_is_approved"
            ),
        ]
        indexes = [
            *item_indexes("payout", open_states=("pending",), filters=("currency",)),
            models.Index(
                fields=["tenant", "account", "amount", "currency", "opened_at"],
                condition=Q(state="pending"),
                name="payout_twins",
            ),
            models.Index(fields=["tenant", "plan_id"], condition=Q(plan_id__isnull=False), name="payout_plan"),
            models.Index(fields=["tenant", "beneficiary", "-id"], name="payout_same_beneficiary"),
            models.Index(fields=["tenant", "account", "-id"], name="payout_same_account"),
        ]

    @property
    def takes_effect(self) -> bool:
        """A payout in a confirmed plan, a paid one and a credit are beyond the queue."""
        return self.plan_id is not None or self.state in {self.State.PAID, self.State.CREDIT}
