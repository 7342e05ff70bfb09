"""The states of jobs and steps, and the names of a job's events."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class JobState(models.TextChoices):
    QUEUED = "queued", _("waiting")
    RUNNING = "running", _("running")
    SUCCEEDED = "succeeded", _("succeeded")
    FAILED = "failed", _("failed")
    CANCELLED = "cancelled", _("cancelled")


class StepState(models.TextChoices):
    QUEUED = "queued", _("waiting")
    RUNNING = "running", _("running")
    SUCCEEDED = "succeeded", _("done")
    FAILED = "failed", _("failed")
    SKIPPED = "skipped", _("skipped")


class EventName(models.TextChoices):
    SUBMITTED = "submitted", _("submitted")
    CLAIMED = "claimed", _("started by a worker")
    STEP_STARTED = "step-started", _("step started")
    STEP_SUCCEEDED = "step-succeeded", _("step done")
    STEP_FAILED = "step-failed", _("step failed")
    STEP_SKIPPED = "step-skipped", _("step skipped")
    RETRY = "retry", _("failed for the moment, tried again later")
    LOST = "lost", _("its worker was lost")
    INTERRUPTED = "interrupted", _("interrupted by an outage")
    CONTINUED = "continued", _("handed to a successor")
    CANCEL_REQUESTED = "cancel-requested", _("cancellation requested")
    UNKNOWN_KIND = "unknown-kind", _("no worker knows this kind of work")
    SUCCEEDED = "succeeded", _("succeeded")
    FAILED = "failed", _("failed")
    CANCELLED = "cancelled", _("cancelled")


FINAL = frozenset({JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED})
LIVE = frozenset({JobState.QUEUED, JobState.RUNNING})
STEP_FINAL = frozenset({StepState.SUCCEEDED, StepState.FAILED, StepState.SKIPPED})
QUEUES = ("interactive", "bulk")
