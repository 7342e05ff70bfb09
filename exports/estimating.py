"""What an export would hold now, before anybody asks for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

from backoffice import livesettings, reading
from backoffice.tenants import scope
from backoffice.tenants.models import User
from exports import providing
from exports.base import Export

PREVIEW_ROWS = 5
LOOK = timedelta(seconds=3)  # how long a person waits for an estimate


@dataclass(frozen=True)
class Estimate:
    """How many rows (None: not counted in time), the bound, and the first of them as the file would hold them."""

    rows: int | None
    limit: int
    first: list[list[str]] = field(default_factory=list)

    @property
    def is_too_large(self) -> bool:
        """Say whether the run would be refused; the count stops one past the bound."""
        return self.rows is not None and self.rows > self.limit


def estimate(definition: Export, values: Mapping[str, Any], *, person: User) -> Estimate:
    """Look at what the filters leave, within a few seconds and no further than the bound of rows."""
    tenant = scope.current()
    zone = ZoneInfo(tenant.time_zone)
    limit = definition.stated_bounds().read().rows
    rows = definition.rows(values, zone=zone)
    first: list[list[str]] = []
    try:
        with reading.session(tenant=tenant, timeout=LOOK, name=f"estimate:{person.pk}"):
            shown, columns = definition.shown(rows, person=person)
            first = providing.first_rows(shown, columns, number=PREVIEW_ROWS, zone=zone)
            return Estimate(providing.count(rows, at_most=limit), limit, first)
    except (reading.TimedOut, reading.Cancelled):
        return Estimate(None, limit, first)


def fits_the_request(definition: Export, values: Mapping[str, Any], *, person_id: int) -> bool:
    """Say whether the export's rows fit into its request budget; what cannot be counted in time does not."""
    tenant = scope.current()
    budget = livesettings.get(definition.request_budget)
    rows = definition.rows(values, zone=ZoneInfo(tenant.time_zone))
    try:
        with reading.session(tenant=tenant, timeout=LOOK, name=f"estimate:{person_id}"):
            return providing.count(rows, at_most=budget) <= budget
    except (reading.TimedOut, reading.Cancelled):
        return False
