"""When a tenant works: its hours by weekday, and the days on which it does not."""

from __future__ import annotations

from django.db import models

from backoffice.tenants.models import TenantModel


class WorkingCalendar(TenantModel):
    """The working hours of a tenant, in its time zone; a tenant without one works from Monday to Friday, 9 to 17.

    `hours` has seven lists, Monday's first, of [from, to] in minutes after midnight: rising, apart, to 1440 at
    most. `version` rises with every change, of the holidays too.
    """

    hours = models.JSONField()
    version = models.PositiveIntegerField(db_default=1)

    class Meta(TenantModel.Meta):
        constraints = [models.UniqueConstraint(fields=["tenant"], name="queues_one_calendar")]

    def __str__(self) -> str:
        return f"calendar of {self.tenant_id}"


class Holiday(TenantModel):
    """A day on which a tenant does not work, and why."""

    day = models.DateField()
    name = models.CharField(max_length=100)

    class Meta(TenantModel.Meta):
        constraints = [models.UniqueConstraint(fields=["tenant", "day"], name="queues_one_holiday_a_day")]

    def __str__(self) -> str:
        return f"{self.day}: {self.name}"
