"""Make a stored object known: from here on people can download it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.db.models.functions import Now

from backoffice.storage import keys
from backoffice.storage.models import Artifact
from backoffice.tenants import scope


def publish(
    *,
    subject: str,
    key: str,
    filename: str,
    content_type: str,
    size: int,
    sha256: str,
    rows: int,
    manifest: dict[str, Any],
    contact: str,
    needs: Sequence[str],
    lifetime: timedelta,
    preview: Any = None,
) -> Artifact:
    """Insert the artifact of an object that lies complete under its key. Call it in a command's body.

    The expiry counts from here, the completion. The database's clock sets both instants.
    """
    made = Artifact.objects.create(
        tenant=scope.current(),
        subject=subject,
        object_key=keys.check(key),
        filename=filename,
        content_type=content_type,
        bytes=size,
        sha256=sha256,
        rows=rows,
        manifest=manifest,
        preview=preview,
        contact=contact,
        needs=list(needs),
        expires_at=Now() + lifetime,
    )
    made.refresh_from_db(fields=["created_at", "expires_at"])
    return made
