"""What every queue's item has: its order, its claim, its score. Fields and constraints only."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from backoffice.tenants.models import TenantModel

CLAIM_FREE: dict[str, Any] = {"claim_holder": None, "claimed_at": None, "lease_until": None}


class QueueItem(TenantModel):
    """Be one item of a queue.

    A model names its states, and which of them are `OPEN` (awaiting a decision): only an open item
    is listed for work and can be held. `claim_token` never falls and rises with every new hold.
    `version` rises with every decision, never by claiming or scoring. `score` is what the list is
    ordered by: what the rule gave, or, while an override lasts, what a person set instead. `due_at` is
    when the first of the queue's clocks runs out; a decided item keeps the one it had.
    """

    OPEN: ClassVar[tuple[str, ...]] = ()

    reference = models.CharField(max_length=80)
    state = models.CharField(max_length=12)
    opened_at = models.DateTimeField()
    natural_key = models.CharField(max_length=200, null=True, editable=False)  # noqa: DJ001  (null: not fed from outside)

    score = models.IntegerField(null=True, editable=False)
    score_inputs = models.JSONField(default=list, db_default=models.Value([], models.JSONField()), editable=False)
    score_rule = models.CharField(max_length=100, blank=True, db_default="", editable=False)
    score_version = models.PositiveIntegerField(null=True, editable=False)
    scored_at = models.DateTimeField(null=True, editable=False)
    score_seen = models.BigIntegerField(null=True, editable=False)  # a hash of what the last scoring read
    score_before = models.JSONField(null=True, editable=False)  # the scoring before: {inputs, version, at}

    due_at = models.DateTimeField(null=True, editable=False)
    due_reason = models.CharField(max_length=60, blank=True, db_default="", editable=False)  # the clock it is due by
    due_seen = models.BigIntegerField(null=True, editable=False)  # a hash of what the due time was worked out from

    override_score = models.IntegerField(null=True, editable=False)
    override_until = models.DateTimeField(null=True, editable=False)
    override_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+", db_index=False, editable=False
    )
    override_reason = models.CharField(max_length=500, blank=True, db_default="", editable=False)

    claim_holder = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+", db_index=False, editable=False
    )
    claim_token = models.BigIntegerField(db_default=0, editable=False)
    claimed_at = models.DateTimeField(null=True, editable=False)
    lease_until = models.DateTimeField(null=True, editable=False)
    snoozed_until = models.DateTimeField(null=True, editable=False)
    version = models.PositiveIntegerField(db_default=1, editable=False)
    loaded_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta(TenantModel.Meta):
        abstract = True

    def __str__(self) -> str:
        return self.reference

    @property
    def target(self) -> str:
        """The item's name in the audit and in job arguments: "payout:17"."""
        return f"{self._meta.model_name}:{self.pk}"

    @property
    def takes_effect(self) -> bool:
        """Say whether the decision has had an effect outside of the queue, so that nothing takes it back."""
        return False

    @property
    def is_open(self) -> bool:
        return self.state in self.OPEN

    def held_at(self, now: datetime) -> bool:
        """Say whether a live claim holds the item at this instant of the database's clock."""
        return self.lease_until is not None and self.lease_until > now


def list_order() -> list[Any]:
    """Return the one order of every queue: score, highest first, unscored last; the oldest; the id."""
    return [F("score").desc(nulls_last=True), "opened_at", "id"]


def due_order() -> list[Any]:
    """Return the order by due time: the first due, those without a due time last; the oldest; the id."""
    return [F("due_at").asc(nulls_last=True), "opened_at", "id"]


def open_items(model: type[QueueItem] | None = None, *, states: tuple[str, ...] = ()) -> Q:
    """Return the condition of an item that awaits a decision, as its partial indexes spell it."""
    wanted = model.OPEN if model is not None else states
    return Q(state=wanted[0]) if len(wanted) == 1 else Q(state__in=list(wanted))


def item_constraints(prefix: str, *, states: list[str], open_states: tuple[str, ...]) -> list[models.BaseConstraint]:
    """Return what the database forbids of every item; `prefix` keeps the names apart."""
    held = Q(claim_holder__isnull=False, claimed_at__isnull=False, lease_until__isnull=False)
    free = Q(claim_holder__isnull=True, claimed_at__isnull=True, lease_until__isnull=True)
    set_by_hand = Q(override_score__isnull=False, override_until__isnull=False, override_by__isnull=False)
    computed = Q(override_score__isnull=True, override_until__isnull=True, override_by__isnull=True)
    scored = Q(score__isnull=False, score_version__isnull=False, scored_at__isnull=False)
    unscored = Q(score__isnull=True, score_version__isnull=True, scored_at__isnull=True)
    return [
        models.UniqueConstraint(fields=["tenant", "natural_key"], name=f"{prefix}_natural_key"),
        models.CheckConstraint(condition=Q(state__in=states), name=f"{prefix}_known_state"),
        models.CheckConstraint(condition=held | free, name=f"{prefix}_whole_claim"),
        models.CheckConstraint(condition=free | open_items(states=open_states), name=f"{prefix}_claim_while_open"),
        models.CheckConstraint(condition=scored | unscored, name=f"{prefix}_whole_score"),
        models.CheckConstraint(condition=set_by_hand | computed, name=f"{prefix}_whole_override"),
    ]


def item_indexes(prefix: str, *, open_states: tuple[str, ...], filters: tuple[str, ...] = ()) -> list[models.Index]:
    """Return the indexes behind the list and the claims; all are partial, so they stay small.

    `list`: open items in list order. `free`: the same, unheld: the best free candidate. `age`: the
    oldest open item, a figure of every front page. `arrival`: what came when, for the supervisor.
    `held`: by the lease's end: the expired candidates. `asleep`: by the end of the snooze. `holder`: one
    person's live claims, for the cap. `state`: the decided ones by state, for the list's filter. `due`: by
    due time, for what is overdue or soon due; `due_free`: the same, unheld; `undue`: those without a due
    time in list order. One more for each of `filters`: open items of one value in list order, so that the page and
    the count of a rare value cost what those of a common one do.
    """
    is_open = open_items(states=open_states)
    is_free = is_open & Q(claim_holder__isnull=True, snoozed_until__isnull=True)
    order: list[Any] = [F("tenant"), F("score").desc(nulls_last=True), F("opened_at"), F("id")]
    by_due: list[Any] = [F("tenant"), F("due_at"), F("opened_at"), F("id")]
    return [
        models.Index(*order, condition=is_open, name=f"{prefix}_list"),
        models.Index(*order, condition=is_free, name=f"{prefix}_free"),
        models.Index(*by_due, condition=is_open, name=f"{prefix}_due"),
        models.Index(*by_due, condition=is_free, name=f"{prefix}_due_free"),
        models.Index(*order, condition=is_open & Q(due_at__isnull=True), name=f"{prefix}_undue"),
        models.Index(F("tenant"), F("opened_at"), condition=is_open, name=f"{prefix}_age"),
        models.Index(F("tenant"), F("loaded_at"), name=f"{prefix}_arrival"),
        models.Index(
            F("tenant"), F("lease_until"), condition=is_open & Q(claim_holder__isnull=False), name=f"{prefix}_held"
        ),
        models.Index(
            F("tenant"), F("snoozed_until"), condition=is_open & Q(snoozed_until__isnull=False), name=f"{prefix}_asleep"
        ),
        models.Index(F("tenant"), F("claim_holder"), condition=Q(claim_holder__isnull=False), name=f"{prefix}_holder"),
        models.Index(F("tenant"), F("state"), *order[1:], condition=~is_open, name=f"{prefix}_state"),
        models.Index(
            F("tenant"), F("override_until"), condition=Q(override_until__isnull=False), name=f"{prefix}_override"
        ),
        *(models.Index(F("tenant"), F(n), *order[1:], condition=is_open, name=f"{prefix}_by_{n}") for n in filters),
    ]
