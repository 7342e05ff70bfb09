"""The rehearsal's command: it changes nothing but leaves its trace."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.utils.translation import gettext_lazy as _

from backoffice.commands import Actor, Outcome, command
from backoffice.errors import Refusal
from backoffice.schedules.work import SYSTEM, Item
from backoffice.tenants.models import Tenant


def demo_tenants(*, now: datetime, after: str, limit: int) -> Sequence[Item]:
    """Select the demo tenants."""
    found = Tenant.objects.filter(demo=True, pk__gt=int(after or 0)).order_by("pk")[:limit]
    return [Item(key=f"{tenant.pk:019d}", arguments={"tenant": tenant.slug}, tenant=tenant) for tenant in found]


@command("rehearsal.step", systems=(SYSTEM, "shell"))
def rehearse(*, actor: Actor, tenant: str) -> Outcome:
    """Do nothing, audited: what a rehearsal looks for afterwards."""
    if not tenant:
        raise Refusal("no-tenant", _("A rehearsal names a demo tenant."))
    return Outcome(target=f"tenant:{tenant}")
