"""Challenges of a score's input: work for whoever owns the rule."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from queues.models.item import QueueItem, item_constraints, item_indexes


class ScoreChallenge(QueueItem):
    """Somebody says that one input of an item's score is wrong. `queue` and `item_id` name the item.

    `stated` is what the score said of the input at that moment, in words.
    """

    class State(models.TextChoices):
        OPEN = "open"
        ACCEPTED = "accepted"
        REJECTED = "rejected"

    OPEN: ClassVar[tuple[str, ...]] = (State.OPEN.value,)

    state = models.CharField(max_length=12, choices=State, default=State.OPEN)
    rule = models.CharField(_("rule"), max_length=100)
    rule_version = models.PositiveIntegerField(_("version of the rule"))
    input = models.CharField(_("input"), max_length=60)
    stated = models.CharField(_("stated"), max_length=300)
    why = models.CharField(_("why it is wrong"), max_length=1000)
    queue = models.CharField(max_length=60, editable=False)
    item_id = models.BigIntegerField(editable=False)
    challenged_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", verbose_name=_("challenged by")
    )

    class Meta(QueueItem.Meta):
        abstract = False
        constraints = [
            *item_constraints("challenge", states=["open", "accepted", "rejected"], open_states=("open",)),
            models.UniqueConstraint(
                fields=["tenant", "queue", "item_id", "input"], condition=Q(state="open"), name="challenge_one_open"
            ),
        ]
        indexes = [
            *item_indexes("challenge", open_states=("open",)),
            models.Index(fields=["tenant", "queue", "item_id"], name="challenge_of_item"),
        ]
