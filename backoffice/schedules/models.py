"""Schedules, their occurrences, and what was left out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from backoffice.tenants.models import TenantModel

# Planning comes to an instant within a second; what it comes to later than this was missed, and caught up.
LATE = timedelta(seconds=5)


class Schedule(TenantModel):
    """A definition as one tenant has it. `cursor` is how far it is planned; it outlives the occurrences.

    `timing` is the record it is planned by, kept so that an edit of the definition is seen. Null for
    a manual job. The counts hold: enumerated = materialised + skipped.
    """

    definition = models.CharField(max_length=100)
    timing = models.JSONField(null=True)
    cursor = models.DateTimeField()
    next_at = models.DateTimeField(null=True)
    paused_at = models.DateTimeField(null=True)
    paused_by = models.CharField(max_length=200, blank=True)
    retired_at = models.DateTimeField(null=True)
    enumerated = models.BigIntegerField(default=0)
    materialised = models.BigIntegerField(default=0)
    skipped = models.BigIntegerField(default=0)
    created_at = models.DateTimeField(db_default=Now())

    class Meta(TenantModel.Meta):
        constraints = [
            models.UniqueConstraint(fields=["tenant", "definition"], name="schedules_one_schedule"),
            models.CheckConstraint(
                condition=Q(enumerated=F("materialised") + F("skipped")), name="schedules_counts_add_up"
            ),
        ]
        indexes = [
            models.Index(
                fields=["next_at"],
                condition=Q(paused_at__isnull=True, retired_at__isnull=True, next_at__isnull=False),
                name="schedules_due",
            )
        ]

    def __str__(self) -> str:
        return self.definition


class Occurrence(TenantModel):
    """One planned instant of a schedule, and the lease under which it is worked on.

    Identity is (schedule, scheduled_at) across retries, replicas and replays. The fence only rises.
    """

    class State(models.TextChoices):
        SCHEDULED = "scheduled"
        PROCESSING = "processing"
        COMPLETED = "completed"
        DEAD_LETTER = "dead_letter"
        SKIPPED = "skipped"

    schedule = models.ForeignKey(Schedule, on_delete=models.PROTECT, related_name="occurrences")
    scheduled_at = models.DateTimeField()
    manual = models.BooleanField(default=False)
    state = models.CharField(max_length=12, choices=State, default=State.SCHEDULED)
    live = models.BooleanField(default=False)  # a job of it is queued or running
    attempts = models.IntegerField(default=0)
    fence = models.BigIntegerField(default=0)
    lease_owner = models.CharField(max_length=200, blank=True, default="")
    lease_until = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    completed_at = models.DateTimeField(null=True)
    cursor = models.CharField(max_length=200, blank=True, default="")
    items_done = models.IntegerField(default=0)
    items_refused = models.IntegerField(default=0)
    safe_error = models.CharField(max_length=500, blank=True, default="")
    created_at = models.DateTimeField(db_default=Now())

    class Meta(TenantModel.Meta):
        constraints = [
            models.UniqueConstraint(fields=["schedule", "scheduled_at"], name="schedules_one_occurrence"),
        ]
        indexes = [
            models.Index(
                fields=["schedule", "scheduled_at"],
                condition=Q(state="scheduled", live=False),
                name="schedules_to_open",
            ),
            models.Index(fields=["schedule"], condition=Q(live=True), name="schedules_going"),
            models.Index(fields=["tenant", "state", "-scheduled_at"], name="schedules_by_state"),
        ]

    def __str__(self) -> str:
        return self.identity

    @property
    def identity(self) -> str:
        """The idempotency scope of everything this occurrence dispatches."""
        return identity(schedule_id=self.schedule_id, scheduled_at=self.scheduled_at)

    @property
    def late(self) -> timedelta | None:
        """How long after its instant the scheduler came to it, when that was longer than planning ever takes."""
        behind = self.created_at - self.scheduled_at
        return behind if not self.manual and behind >= LATE else None


class Misfire(TenantModel):
    """Instants of one schedule that were left out at one time, and why."""

    class Reason(models.TextChoices):
        GRACE = "grace", "older than the grace"
        ONCE = "once", "only the latest runs"
        CAP = "cap", "beyond the cap"
        PAUSED = "paused", "passed while the schedule was paused"
        GOING = "going", "an earlier run was still going"

    schedule = models.ForeignKey(Schedule, on_delete=models.CASCADE, related_name="misfires")
    at = models.DateTimeField(db_default=Now())
    reason = models.CharField(max_length=10, choices=Reason)
    count = models.BigIntegerField()
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()

    class Meta(TenantModel.Meta):
        indexes = [models.Index(fields=["schedule", "-id"], name="schedules_misfires")]

    def __str__(self) -> str:
        return f"{self.count} {self.reason}"


def identity(*, schedule_id: int, scheduled_at: datetime) -> str:
    """Join schedule and instant: "17@2026-03-29T01:00:00+00:00"."""
    return f"{schedule_id}@{scheduled_at.astimezone(UTC).isoformat()}"
