"""End a request: publish its artifact, or record in words why there is none."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils.translation import gettext_lazy as _

from backoffice import storage
from backoffice.errors import Refusal
from exports.models import FileRequest


def publish_file(
    model: type[FileRequest],
    *,
    subject: str,
    request_id: int,
    object_key: str,
    size: int,
    lifetime_hours: int,
    **artifact: Any,
) -> dict[str, Any]:
    """Insert the artifact and end the request with it; refuse one that has ended. Call it in a command's body."""
    request = model.objects.select_for_update().filter(pk=request_id).first()
    if request is None or request.artifact_id is not None or request.failure_code:
        raise Refusal("ended", _("This request has ended already."))
    made = storage.publish(
        subject=subject, key=object_key, size=size, lifetime=timedelta(hours=lifetime_hours), **artifact
    )
    model.objects.filter(pk=request_id).update(artifact=made)
    return {"artifact": made.pk, "rows": made.rows, "bytes": made.bytes, "expires_at": made.expires_at.isoformat()}


def fail_file(model: type[FileRequest], *, request_id: int, code: str, reason: str) -> None:
    """End the request without a file. Call it in a command's body."""
    ended = model.objects.filter(pk=request_id, artifact=None, failure_code="").update(
        failure_code=code[:60], failure=reason
    )
    if not ended:
        raise Refusal("ended", _("This request has ended already."))
