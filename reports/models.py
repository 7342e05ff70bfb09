"""Requests for reports."""

from __future__ import annotations

from django.db import models

from exports.models import FileRequest


class ReportRequest(FileRequest):
    """A person asked for a report. Its small result is shown from the artifact's preview, as long as that lives."""

    class Meta(FileRequest.Meta):
        abstract = False
        constraints = [
            models.CheckConstraint(
                condition=models.Q(artifact=None) | models.Q(failure_code=""), name="reports_request_ends_once"
            )
        ]
        indexes = [models.Index(fields=["tenant", "-id"], name="reports_request_list")]
