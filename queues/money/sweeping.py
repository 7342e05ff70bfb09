"""Stop the plans whose job ended without closing them: its worker was killed for good, or it was never started."""

from __future__ import annotations

from django.utils.translation import gettext as _

from backoffice import commands, jobs
from backoffice.jobs.models import Job
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant
from queues.money import executing, settling
from queues.money.models import Plan

BATCH = 100


def stop_ended_plans() -> int:
    """Stop each such plan in its own tenant and transaction; the scheduler calls it. Return how many there were."""
    with scope.unscoped(reason="the scheduler looks after the plans of all tenants"):
        ended = Job.objects.filter(state__in=[jobs.JobState.FAILED, jobs.JobState.CANCELLED]).values("pk")
        plans = list(
            Plan.objects.filter(state__in=[Plan.State.CONFIRMED, Plan.State.RUNNING], job_id__in=ended)[:BATCH]
        )
        tenants = Tenant.objects.in_bulk({plan.tenant_id for plan in plans})
    for plan in plans:
        with scope.open(tenants[plan.tenant_id]):
            commands.dispatch(
                settling.stop_plan,
                actor=executing.actor_for(plan),
                key=f"plan:{plan.pk}:sweep",
                plan_id=plan.pk,
                reason=_("Its run ended early."),
            )
    return len(plans)
