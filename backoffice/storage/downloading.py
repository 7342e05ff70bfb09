"""Hand a stored file to a person: permission, expiry and audit first, then a link of a minute."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from backoffice import clock, commands
from backoffice.audit import recording
from backoffice.audit.models import AuditEvent
from backoffice.commands import Actor, Outcome, command
from backoffice.errors import NotPermitted, Refusal
from backoffice.storage import objects, signing
from backoffice.storage.models import Artifact


@dataclass(frozen=True)
class Link:
    """What a download's answer is made of: a signed address, or, where browsers reach no storage, the bytes."""

    artifact: Artifact
    url: str = ""
    stream: Iterator[bytes] | None = None


@command("artifact.download", permission="storage.download_artifact")
def download_artifact(*, actor: Actor, artifact_id: int) -> Outcome:
    """Allow this person one download of the artifact, and record it."""
    artifact = _find(artifact_id)
    for permission in artifact.needs:
        if actor.user is None or not actor.user.has_perm(permission):
            raise NotPermitted("not-permitted", _("Your roles here do not include what this file holds."))
    check_live(artifact, now=clock.now())
    return Outcome(
        target=artifact.target,
        data={"subject": artifact.subject, "filename": artifact.filename, "rows": artifact.rows},
    )


def download(*, actor: Actor, key: str, artifact_id: int) -> Link:
    """Dispatch the download and return its link. A form sent twice is checked for expiry again, not audited again."""
    commands.dispatch(download_artifact, actor=actor, key=key, artifact_id=artifact_id)
    artifact = _find(artifact_id)
    check_live(artifact, now=clock.now())
    if signing.signs_links():
        url = signing.sign(key=artifact.object_key, filename=artifact.filename, content_type=artifact.content_type)
        return Link(artifact, url=url)
    return Link(artifact, stream=objects.open_stream(key=artifact.object_key))


def check_live(artifact: Artifact, *, now: datetime) -> None:
    """Refuse, in words, a file that was revoked or is past its time."""
    if artifact.removed_because == "revoked":
        raise Refusal("revoked", _("This file was withdrawn. Ask %(contact)s.") % {"contact": artifact.contact})
    if not artifact.is_live(now=now):
        raise Refusal("expired", _("This file has expired and was removed. Request it again."))


def downloads(*, artifact: Artifact) -> QuerySet[AuditEvent]:
    """Return who downloaded it and when, the newest first: the audit trail is the record."""
    return recording.timeline(target=artifact.target).filter(
        act=download_artifact.name, outcome=AuditEvent.Outcome.DONE
    )


def _find(artifact_id: int) -> Artifact:
    artifact = Artifact.objects.filter(pk=artifact_id).first()
    if artifact is None:
        raise Refusal("unknown-artifact", _("There is no such file."))
    return artifact
