"""Write audit events and read a target's timeline."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet

from backoffice.audit.models import AuditEvent
from backoffice.tenants import scope


def record(
    *,
    actor: str,
    actor_user_id: int | None,
    act: str,
    acting_for: str = "",
    outcome: str = AuditEvent.Outcome.DONE,
    code: str = "",
    target: str = "",
    data: dict[str, Any] | None = None,
) -> AuditEvent:
    """Write one event in the open tenant and the current transaction. `data` never holds a secret."""
    return AuditEvent.objects.create(
        tenant=scope.current(),
        actor=actor[:200],
        actor_user_id=actor_user_id,
        acting_for=acting_for[:200],
        act=act,
        outcome=outcome,
        code=code,
        target=target,
        data=data or {},
    )


def timeline(*, target: str) -> QuerySet[AuditEvent]:
    """Return the events of one target, the newest first."""
    return AuditEvent.objects.filter(target=target).order_by("-id")
