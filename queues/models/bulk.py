"""Bulk runs: what was chosen from a list, what was asked for, and what came of each item."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from backoffice.tenants.models import TenantModel


class BulkRun(TenantModel):
    """One choice of items, frozen when it was made, and the one act that was then asked for.

    `line_count` is what the confirm page says and what is handled. `job_id` is set where a worker runs it;
    it has no foreign key because jobs are purged before their results are.
    """

    class State(models.TextChoices):
        CHOSEN = "chosen"
        RUNNING = "running"
        ENDED = "ended"

    class Act(models.TextChoices):
        ASSIGN = "assign"
        SNOOZE = "snooze"
        RELEASE = "release"

    queue = models.CharField(max_length=60)
    state = models.CharField(max_length=10, choices=State, db_default=State.CHOSEN)
    suffix = models.CharField(max_length=1000, blank=True, db_default="")  # the list's filters, to go back to it
    act = models.CharField(max_length=10, choices=Act, blank=True, db_default="")
    to = ArrayField(models.BigIntegerField(), default=list)
    until = models.DateTimeField(null=True)
    reason = models.CharField(max_length=1000, blank=True, db_default="")
    line_count = models.PositiveIntegerField(db_default=0)
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    job_id = models.BigIntegerField(null=True)
    created_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    ended_reason = models.CharField(max_length=300, blank=True, db_default="")

    class Meta(TenantModel.Meta):
        constraints = [
            models.CheckConstraint(
                condition=Q(state="chosen", act="", started_at=None) | (~Q(state="chosen") & ~Q(act="")),
                name="queues_bulk_started_with_an_act",
            ),
            models.CheckConstraint(
                condition=Q(state="ended", ended_at__isnull=False) | (~Q(state="ended") & Q(ended_at=None)),
                name="queues_bulk_ended",
            ),
        ]
        indexes = [
            models.Index(fields=["tenant", "queue", "-id"], name="queues_bulk_of_queue"),
            models.Index(fields=["created_at"], name="queues_bulk_age"),
        ]

    def __str__(self) -> str:
        return f"bulk run {self.pk}"

    @property
    def target(self) -> str:
        """The run's name in the audit: "bulk:17"."""
        return f"bulk:{self.pk}"


class BulkLine(TenantModel):
    """One chosen item as it was seen: its hold's token and holder, its version. A final state never changes."""

    class State(models.TextChoices):
        OPEN = "open"
        DONE = "done"
        REFUSED = "refused"
        NOT_STARTED = "not_started"

    run = models.ForeignKey(BulkRun, on_delete=models.CASCADE, related_name="lines", db_index=False)
    position = models.PositiveIntegerField()
    item_id = models.BigIntegerField()
    reference = models.CharField(max_length=80)
    holder_id = models.BigIntegerField(null=True)
    token = models.BigIntegerField()
    version = models.PositiveIntegerField()
    state = models.CharField(max_length=12, choices=State, db_default=State.OPEN)
    given_to = models.BigIntegerField(null=True)
    code = models.CharField(max_length=60, blank=True, db_default="")
    words = models.CharField(max_length=300, blank=True, db_default="")

    class Meta(TenantModel.Meta):
        constraints = [
            models.UniqueConstraint(fields=["run", "position"], name="queues_bulkline_position"),
            models.UniqueConstraint(fields=["run", "item_id"], name="queues_bulkline_item"),
        ]
        indexes = [models.Index(fields=["run", "state", "position"], name="queues_bulkline_state")]

    def __str__(self) -> str:
        return f"{self.reference}: {self.state}"

    @property
    def key(self) -> str:
        """The key of the item's one command."""
        return f"bulk:{self.run_id}:{self.position}"
