"""The part of a tenant's deletion that removes its background work."""

from __future__ import annotations

import time
from datetime import timedelta

from django.utils.translation import gettext_lazy as _

from backoffice import commands
from backoffice.commands import Actor
from backoffice.jobs import purging
from backoffice.jobs.base import Consequence, JobKind, Step, register
from backoffice.jobs.running import Run


@register
class PurgeTenant(JobKind):
    """Remove a tenant's jobs, steps, events and notices. Submitted in the platform's scope, and survives itself."""

    name = "jobs.purge-tenant"
    title = _("Remove a deleted tenant's background work")
    queue = "bulk"
    steps = (Step("purge", _("Remove jobs, steps, events and notices")),)
    max_attempts = 10
    max_duration = timedelta(hours=2)
    changes = _("The tenant has no jobs, steps, events or notices any more.")
    failure = Consequence(_("The tenant's job records are still there: run this again before its data counts as gone."))

    def run(self, run: Run) -> None:
        tenant_id = int(run.arguments["tenant"])
        actor = Actor.system(purging.SYSTEM, acting_for=f"job:{run.job.pk}")
        with run.step("purge") as todo:
            batch = 0
            while todo:
                key = f"job:{run.job.pk}:{run.fence}:{batch}"
                outcome = commands.dispatch(
                    purging.purge_tenant, actor=actor, key=key, guard=run.guard, tenant_id=tenant_id, batch=batch
                )
                batch += 1
                if outcome.data["left"] == 0:
                    return
                if outcome.data["left"] is not None:
                    run.check_cancelled()
                    time.sleep(0.5)  # what runs is coming to its end
