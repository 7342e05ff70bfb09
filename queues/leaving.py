"""Free what a person holds when their tenant closes to them."""

from __future__ import annotations

from backoffice.audit import recording
from backoffice.commands import Actor
from backoffice.people.leaving import when_leaving
from backoffice.tenants.models import User
from queues.base import queues
from queues.models.item import CLAIM_FREE


@when_leaving
def free_claims(actor: Actor, person: User) -> int:
    """Free the person's items in every queue of the open tenant, and note it in each one's history."""
    freed = 0
    for queue in queues:
        held = list(
            queue.model.objects.select_for_update()
            .filter(claim_holder=person)
            .order_by("pk")
            .values_list("pk", flat=True)
        )
        queue.model.objects.filter(pk__in=held, claim_holder=person).update(**CLAIM_FREE)
        for item in held:
            recording.record(
                actor=actor.name,
                actor_user_id=actor.user.pk if actor.user else None,
                act="item.release",
                target=f"{queue.model._meta.model_name}:{item}",
                data={"arguments": {"reason": "the holder was deactivated"}},
            )
        freed += len(held)
    return freed
