"""Account reviews: a person looks at an account before it may go on."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from queues.models.item import QueueItem, item_constraints, item_indexes


class AccountReview(QueueItem):
    """One account to look at. Staff clear it or escalate it; nothing scores it."""

    class State(models.TextChoices):
        OPEN = "open"
        CLEARED = "cleared"
        ESCALATED = "escalated"

    OPEN: ClassVar[tuple[str, ...]] = (State.OPEN.value,)

    state = models.CharField(max_length=12, choices=State, default=State.OPEN)
    holder = models.CharField(max_length=200)
    country = models.CharField(max_length=2)
    note = models.CharField(max_length=300, blank=True, db_default="")

    class Meta(QueueItem.Meta):
        abstract = False
        constraints = [
            *item_constraints("review", states=["open", "cleared", "escalated"], open_states=("open",)),
            models.CheckConstraint(condition=Q(country__regex=r"^[A-Z]{2}$"), name="review_country"),
        ]
        indexes = [
            *item_indexes("review", open_states=("open",), filters=("country",)),
            models.Index(fields=["tenant", "holder", "-id"], name="review_same_holder"),
        ]
