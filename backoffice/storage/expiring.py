"""Take files away: at the end of their time, when withdrawn, and what a broken run left behind.

The object goes first and the row after it, in the command's transaction: removing an object that
is gone is no error, so a transaction that fails is repeated; the other order could forget bytes.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from backoffice.commands import Actor, Outcome, command
from backoffice.errors import Refusal
from backoffice.storage import objects
from backoffice.storage.models import Artifact
from backoffice.tenants import scope

# Longer than any run may take: what is older and was never published belongs to nobody.
UNPUBLISHED_AFTER = timedelta(days=1)


def expired(*, now: datetime) -> QuerySet[Artifact]:
    """Return the open tenant's artifacts that are past their time and still lie in storage."""
    return Artifact.objects.filter(removed_at=None, expires_at__lte=now).order_by("expires_at", "id")


@command("artifact.expire", systems=("schedules", "shell"))
def expire_artifact(*, actor: Actor, artifact_id: int) -> Outcome:
    """Remove the object of an artifact that is past its time, by the database's clock."""
    due = Artifact.objects.select_for_update().filter(pk=artifact_id, removed_at=None, expires_at__lte=Now()).first()
    if due is None:
        raise Refusal("not-expired", _("This file is not past its time, or was removed already."))
    return _remove(due, because="expired")


@command("artifact.revoke", permission="storage.revoke_artifact")
def revoke_artifact(*, actor: Actor, artifact_id: int) -> Outcome:
    """Withdraw a file before its time. Links signed before it stop working too, since the object goes."""
    live = Artifact.objects.select_for_update().filter(pk=artifact_id, removed_at=None).first()
    if live is None or actor.user is None or not actor.user.has_perms(live.needs):
        raise Refusal("unknown-artifact", _("There is no such file."))
    return _remove(live, because="revoked")


def sweep_unpublished(*, now: datetime) -> int:
    """Remove objects and uploads of the open tenant that runs left which were killed; return how many.

    An object that an artifact names stays. What others put under the tenant's path goes too, whatever its name.
    """
    home = f"tenants/{scope.current().slug}/"
    old = [key for key, changed in objects.listing(prefix=home) if changed < now - UNPUBLISHED_AFTER]
    known = set(Artifact.objects.filter(object_key__in=old, removed_at=None).values_list("object_key", flat=True))
    for key in set(old) - known:
        objects.delete_listed(key=key)
    begun = [upload for upload in objects.uploads(prefix=home) if upload.begun < now - UNPUBLISHED_AFTER]
    for upload in begun:
        objects.abort(upload=upload)
    return len(set(old) - known) + len(begun)


def _remove(artifact: Artifact, *, because: str) -> Outcome:
    # The request's whole path, with what an earlier run of it may have left there.
    objects.delete_under(prefix=artifact.object_key.rsplit("/", 2)[0] + "/")
    Artifact.objects.filter(pk=artifact.pk).update(removed_at=Now(), removed_because=because, preview=None)
    return Outcome(target=artifact.target, data={"subject": artifact.subject, "because": because})
