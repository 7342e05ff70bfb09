"""Requests for files."""

from __future__ import annotations

from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models.functions import Now

from backoffice.storage.models import Artifact
from backoffice.tenants.models import TenantModel


class FileRequest(TenantModel):
    """A person asked for a file: of what, narrowed how, in which encoding, and what became of it.

    With a job, the job's row says how the run stands; without one the run happened inside the
    request. It ends once: with an artifact, or with a failure in words.
    """

    definition = models.CharField(max_length=100)
    arguments = models.JSONField(default=dict, encoder=DjangoJSONEncoder)
    encoding = models.CharField(max_length=20)
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    requested_at = models.DateTimeField(db_default=Now())
    job = models.OneToOneField("jobs.Job", on_delete=models.PROTECT, null=True, related_name="+")
    artifact = models.OneToOneField(Artifact, on_delete=models.PROTECT, null=True, related_name="+")
    failure_code = models.CharField(max_length=60, blank=True)
    failure = models.TextField(blank=True)

    class Meta(TenantModel.Meta):
        abstract = True
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.definition} {self.pk}"

    @property
    def state(self) -> str:
        """Return done, failed, or how the job stands: queued, running, failed, cancelled."""
        if self.artifact_id is not None:
            return "done"
        if self.failure_code:
            return "failed"
        if self.job is None:
            return "running"
        return str(self.job.state)

    @property
    def is_on_its_way(self) -> bool:
        """Say whether a page about it should look again."""
        return self.state in {"queued", "running"}


class ExportRequest(FileRequest):
    """A person asked for an export."""

    class Meta(FileRequest.Meta):
        abstract = False
        constraints = [
            models.CheckConstraint(
                condition=models.Q(artifact=None) | models.Q(failure_code=""), name="exports_request_ends_once"
            )
        ]
        indexes = [models.Index(fields=["tenant", "-id"], name="exports_request_list")]
