"""The durable record: one row a job, one a step, one an event; and a notice for who asked."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from backoffice.jobs.states import FINAL, LIVE, STEP_FINAL, EventName, JobState, StepState
from backoffice.tenants.models import Tenant, TenantModel

_FINAL = sorted(FINAL)
_LIVE = sorted(LIVE)
_STEP_FINAL = sorted(STEP_FINAL)


class Job(TenantModel):
    """A piece of work. Only the statements in `sql/` change it; the database refuses what must not be.

    `execution` names the run that holds it ("17/3": job 17 under fence 3); `successor` the run that
    takes over after a hand-over. `dispatch_at` is when the reconciler looks at a queued job next.
    """

    State = JobState

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+", db_index=False)
    kind = models.CharField(max_length=100)
    submission_key = models.CharField(max_length=200)
    queue = models.CharField(max_length=20)
    arguments = models.JSONField(default=dict, encoder=DjangoJSONEncoder)
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+", db_index=False
    )
    occurrence = models.BigIntegerField(null=True)
    replay_of = models.ForeignKey(
        "self", on_delete=models.DO_NOTHING, null=True, db_constraint=False, db_index=False, related_name="replays"
    )
    state = models.CharField(max_length=10, choices=JobState, db_default=JobState.QUEUED)
    progress = models.SmallIntegerField(db_default=0)
    attempt = models.IntegerField(db_default=0)
    max_attempts = models.IntegerField(db_default=1)
    fence = models.BigIntegerField(db_default=0)
    owner = models.CharField(max_length=200, db_default="")
    lease = models.DurationField(default=timedelta(seconds=30))
    max_duration = models.DurationField(default=timedelta(minutes=10))
    lease_until = models.DateTimeField(null=True)
    deadline = models.DateTimeField(null=True)
    available_at = models.DateTimeField(db_default=Now())
    dispatch_no = models.IntegerField(db_default=0)
    dispatched_at = models.DateTimeField(null=True)
    dispatch_at = models.DateTimeField(db_default=Now())
    cancel_requested_at = models.DateTimeField(null=True)
    safe_reason = models.CharField(max_length=500, db_default="")
    code = models.CharField(max_length=60, db_default="")
    execution = models.CharField(max_length=60, db_default="")
    successor = models.CharField(max_length=60, db_default="")
    event_no = models.IntegerField(db_default=0)
    created_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True)
    settled_at = models.DateTimeField(null=True)

    class Meta(TenantModel.Meta):
        db_table = "job"
        constraints = [
            models.UniqueConstraint(fields=["tenant", "kind", "submission_key"], name="job_one_per_intention"),
            models.UniqueConstraint(
                fields=["occurrence"],
                condition=Q(occurrence__isnull=False, state__in=_LIVE),
                name="job_one_live_per_occurrence",
            ),
            models.CheckConstraint(condition=Q(state__in=JobState.values), name="job_known_state"),
            models.CheckConstraint(
                condition=Q(settled_at__isnull=False, state__in=_FINAL) | Q(settled_at__isnull=True, state__in=_LIVE),
                name="job_settled_exactly_when_final",
            ),
            models.CheckConstraint(condition=Q(progress__range=(0, 100)), name="job_progress_is_a_percentage"),
            models.CheckConstraint(
                condition=~Q(state=JobState.RUNNING) | Q(lease_until__isnull=False), name="job_running_under_a_lease"
            ),
        ]
        indexes = [
            # What the reconciler asks each second stays as small as what waits and what runs. The
            # lease itself is in no index, so that a renewal stays within its page (HOT).
            models.Index(fields=["dispatch_at"], condition=Q(state=JobState.QUEUED), name="job_to_dispatch"),
            models.Index(fields=["id"], condition=Q(state=JobState.RUNNING), name="job_running"),
            models.Index(fields=["tenant", "-id"], name="job_by_tenant"),
            models.Index(fields=["tenant", "state", "-id"], name="job_by_tenant_and_state"),
            models.Index(fields=["state", "-id"], name="job_by_state"),
            models.Index(
                fields=["tenant", "settled_at"], condition=Q(settled_at__isnull=False), name="job_past_retention"
            ),
            models.Index(fields=["replay_of"], condition=Q(replay_of__isnull=False), name="job_replays"),
            models.Index(fields=["occurrence"], condition=Q(occurrence__isnull=False), name="job_by_occurrence"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"

    @property
    def is_final(self) -> bool:
        return self.state in FINAL


class JobStep(TenantModel):
    """A visible part of a job."""

    State = StepState

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+", db_index=False)
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="steps", db_index=False)
    name = models.CharField(max_length=60)
    position = models.SmallIntegerField()
    weight = models.SmallIntegerField(null=True)
    state = models.CharField(max_length=10, choices=StepState, db_default=StepState.QUEUED)
    progress = models.SmallIntegerField(db_default=0)
    done = models.BigIntegerField(db_default=0)
    total = models.BigIntegerField(null=True)
    attempt = models.IntegerField(db_default=0)
    started_at = models.DateTimeField(null=True)
    settled_at = models.DateTimeField(null=True)

    class Meta(TenantModel.Meta):
        db_table = "job_step"
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["job", "name"], name="job_step_one_per_name"),
            models.CheckConstraint(condition=Q(state__in=StepState.values), name="job_step_known_state"),
            models.CheckConstraint(
                condition=Q(settled_at__isnull=False, state__in=_STEP_FINAL)
                | (Q(settled_at__isnull=True) & ~Q(state__in=_STEP_FINAL)),
                name="job_step_settled_exactly_when_final",
            ),
            models.CheckConstraint(condition=Q(progress__range=(0, 100)), name="job_step_progress_is_a_percentage"),
        ]

    def __str__(self) -> str:
        return self.name


class JobEvent(TenantModel):
    """A fact of a job's history. `seq` counts from 1 within the job; a row never changes."""

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+", db_index=False)
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="events", db_index=False)
    seq = models.IntegerField()
    at = models.DateTimeField(db_default=Now())
    name = models.CharField(max_length=20, choices=EventName)
    attempt = models.IntegerField(db_default=0)
    fence = models.BigIntegerField(db_default=0)
    data = models.JSONField(default=dict, encoder=DjangoJSONEncoder)

    class Meta(TenantModel.Meta):
        db_table = "job_event"
        ordering = ["seq"]
        constraints = [models.UniqueConstraint(fields=["job", "seq"], name="job_event_one_per_seq")]

    def __str__(self) -> str:
        return f"{self.job_id}.{self.seq} {self.name}"


class Notice(TenantModel):
    """Tell who asked for a job that it has ended. The database writes it in the statement that ends the job.

    Its words are read from the job's own history. So it leaves with its job.
    """

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+", db_index=False)
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", db_index=False)
    job = models.OneToOneField(Job, on_delete=models.CASCADE, related_name="notice")
    at = models.DateTimeField(db_default=Now())
    read_at = models.DateTimeField(null=True)
    mailed_at = models.DateTimeField(null=True)

    class Meta(TenantModel.Meta):
        db_table = "job_notice"
        indexes = [
            models.Index(fields=["person", "-id"], name="job_notice_by_person"),
            models.Index(fields=["person", "tenant"], condition=Q(read_at__isnull=True), name="job_notice_unread"),
            models.Index(fields=["at"], condition=Q(mailed_at__isnull=True), name="job_notice_to_mail"),
        ]

    def __str__(self) -> str:
        return f"job {self.job_id} for {self.person_id}"
