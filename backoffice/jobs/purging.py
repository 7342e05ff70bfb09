"""Remove jobs for good: those past their retention, and all of a tenant that is being deleted."""

from __future__ import annotations

from datetime import datetime

from django.utils.translation import gettext_lazy as _

from backoffice.commands import Actor, Outcome, command
from backoffice.errors import Refusal
from backoffice.jobs import statements
from backoffice.tenants import scope
from backoffice.tenants.models import PLATFORM_ID

BATCH = 1000
SYSTEM = "tenant-deletion"


def purge_ended(*, before: datetime, limit: int = BATCH) -> int:
    """Remove up to `limit` of the open tenant's jobs that ended before the instant; return how many went."""
    values = {"tenant": scope.current().pk, "before": before, "limit": limit}
    return int(statements.on_django("purge", values)[0][0])


@command("jobs.purge-tenant", systems=(SYSTEM,))
def purge_tenant(*, actor: Actor, tenant_id: int, batch: int) -> Outcome:
    """Remove one batch of a tenant's jobs with their steps, events and notices; runs in the platform's scope.

    A job that runs is not removed under its worker: it is asked to cancel, and a later batch takes it.
    The deletion's own jobs are the platform's, and so remain.
    """
    if not scope.current().is_platform or tenant_id == PLATFORM_ID:
        raise Refusal("not-a-tenant", _("The platform itself is not deleted."))
    removed, left = statements.on_django("purge_tenant", {"tenant": tenant_id, "limit": BATCH})[0]
    statements.on_django("cancel_tenant", {"tenant": tenant_id})
    return Outcome(target=f"tenant:{tenant_id}", data={"removed": removed, "left": left})
