"""Disputes: a customer says a charge is wrong."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from queues.models.item import QueueItem, item_constraints, item_indexes


class Dispute(QueueItem):
    """One disputed charge. Staff resolve it for the customer or refuse it.

    `waiting_since` is set while the customer is the one who must act; `waits` holds the ended stretches of
    that as pairs of instants. `owed_since` is since when the customer awaits the next word from us: the
    answer after which we go on, or the message that ended a wait, and never a message that only urges.
    """

    class State(models.TextChoices):
        OPEN = "open"
        RESOLVED = "resolved"
        REFUSED = "refused"

    class Cause(models.TextChoices):
        FRAUD = "fraud"
        NOT_RECEIVED = "not-received"
        DUPLICATE = "duplicate"
        NOT_AS_DESCRIBED = "not-as-described"
        OTHER = "other"

    OPEN: ClassVar[tuple[str, ...]] = (State.OPEN.value,)

    state = models.CharField(max_length=12, choices=State, default=State.OPEN)
    customer = models.CharField(max_length=200)
    amount = models.DecimalField(max_digits=20, decimal_places=4)
    currency = models.CharField(max_length=3)
    reason = models.CharField(max_length=40, choices=Cause)
    evidence_received_at = models.DateTimeField(null=True)
    first_answered_at = models.DateTimeField(_("first answer"), null=True)
    answered_at = models.DateTimeField(_("last answer"), null=True)
    customer_wrote_at = models.DateTimeField(_("customer's last message"), null=True)
    waiting_since = models.DateTimeField(_("waits for the customer since"), null=True)
    owed_since = models.DateTimeField(null=True, editable=False)
    waits = models.JSONField(default=list, db_default=models.Value([], models.JSONField()), editable=False)

    class Meta(QueueItem.Meta):
        abstract = False
        constraints = [
            *item_constraints("dispute", states=["open", "resolved", "refused"], open_states=("open",)),
            models.CheckConstraint(condition=Q(amount__gt=0), name="dispute_amount"),
            models.CheckConstraint(condition=Q(currency__regex=r"^[A-Z]{3}$"), name="dispute_currency"),
            models.CheckConstraint(
                condition=Q(waiting_since__isnull=True) | Q(first_answered_at__isnull=False),
                name="dispute_waits_after_an_answer",
            ),
        ]
        indexes = [
            *item_indexes("dispute", open_states=("open",), filters=("reason", "currency")),
            models.Index(
                fields=["tenant", "customer", "amount", "currency", "opened_at"],
                condition=Q(state="open"),
                name="dispute_twins",
            ),
            models.Index(fields=["tenant", "customer", "-id"], name="dispute_same_customer"),
        ]
