"""Tallies: what happened in a queue within one quarter of an hour, counted once it is over."""

from __future__ import annotations

from django.db import models

from backoffice.tenants.models import TenantModel


class Tally(TenantModel):
    """The figures of one quarter of an hour of one queue, by `kind`, its items' name in the audit.

    `figures`: {"counts": {what: number}, "people": {person: {what: number}}, "waits": {what: {step: number}}},
    where a step is a band of durations (see overview.longest).
    """

    kind = models.CharField(max_length=40)
    quarter = models.DateTimeField()
    figures = models.JSONField(default=dict)

    class Meta(TenantModel.Meta):
        constraints = [models.UniqueConstraint(fields=["tenant", "kind", "quarter"], name="queues_one_tally")]

    def __str__(self) -> str:
        return f"{self.kind} {self.quarter}"
