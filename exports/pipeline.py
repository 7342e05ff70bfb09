"""What every file goes through, an export's or a report's: authorize, write, store, publish.

A run writes under a path of its own and its fence, so a stale one never touches a newer one's
object. Publishing is one fenced transaction: it inserts the artifact and ends the request. A run
that fails removes what it stored, unless its publication did commit.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog
from django.utils.translation import gettext_lazy as _

from backoffice import commands, jobs, reading, storage
from backoffice.commands import Actor, Command
from backoffice.errors import BackofficeError, Refusal
from backoffice.storage.models import Artifact
from backoffice.tenants import scope
from exports.bounds import Limits
from exports.models import FileRequest
from exports.spooling import Spool

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Content:
    """What was written: its rows, their instant, and what the manifest says beside the file's own figures."""

    rows: int
    as_of: datetime
    manifest: dict[str, Any]
    preview: Any = None


@dataclass(frozen=True)
class Plan:
    """One run: whose request, what its reader needs, where it lies, what it is called, how it is published."""

    request: FileRequest
    area: str
    fence: int
    filename: str
    content_type: str
    needs: Sequence[str]
    contact: str
    limits: Limits
    publish: Command
    guard: Callable[[], None] | None = None

    @property
    def subject(self) -> str:
        """The request's name in the audit, and its reading session's in the database."""
        return f"{self.area}:{self.request.pk}"


def authorize(request: FileRequest, *, needs: Sequence[str]) -> None:
    """Refuse a run whose requester has lost, since the request, what it takes."""
    person = type(request.requested_by).objects.get(pk=request.requested_by_id)
    if not person.has_perms(needs):
        raise Refusal("permission-lost", _("The person who asked for this may no longer see it. Nothing was written."))


def carry(plan: Plan, *, write: Callable[[Spool], Content]) -> None:
    """Write the file, store it and publish it."""
    key = storage.object_key(area=plan.area, request_id=plan.request.pk, fence=plan.fence)
    try:
        with Spool(limits=plan.limits) as spool:
            content = _written(spool, write)
            spool.complete()
            storage.put_file(key=key, path=spool.path, content_type=plan.content_type)
            commands.dispatch(
                plan.publish,
                actor=Actor.system("files", acting_for=f"{plan.subject} for {plan.request.requested_by.email}"[:200]),
                key=f"publish:{plan.subject}:{plan.fence}",
                guard=plan.guard,
                request_id=plan.request.pk,
                object_key=key,
                filename=plan.filename,
                content_type=plan.content_type,
                size=spool.size,
                sha256=spool.sha256,
                rows=content.rows,
                manifest={
                    "rows": content.rows,
                    "bytes": spool.size,
                    "sha256": spool.sha256,
                    "as_of": content.as_of.isoformat(),
                    **content.manifest,
                },
                preview=content.preview,
                contact=plan.contact,
                needs=list(plan.needs),
                lifetime_hours=plan.limits.hours,
            )
    except BaseException:
        _take_back(key)
        raise
    log.info("file.published", subject=plan.subject, fence=plan.fence, rows=content.rows)


def _written(spool: Spool, write: Callable[[Spool], Content]) -> Content:
    """Write the file; a fault becomes one that says how far the file had come."""
    try:
        return write(spool)
    except BackofficeError:
        raise
    except Exception as error:
        where = _("It failed at row %(row)d, and nothing was stored.") % {"row": spool.rows}
        raise jobs.Broken(str(where if spool.rows else _("It failed before the first row."))) from error


@contextlib.contextmanager
def reading_session(plan: Plan, *, insist: Callable[[], None]) -> Iterator[reading.Session]:
    """Open the run's reading session; tell a bound that was hit from a wish to stop and from a fault."""
    try:
        with reading.session(tenant=scope.current(), timeout=plan.limits.time, name=plan.subject) as session:
            yield session
    except reading.TimedOut:
        raise plan.limits.out_of_time() from None
    except reading.Cancelled:
        insist()
        raise


def _take_back(key: str) -> None:
    """Remove what this run stored; what cannot be removed now goes with the sweep of unpublished objects."""
    try:
        # The answer to a commit can be lost: a published object stays.
        if not Artifact.objects.filter(object_key=key).exists():
            storage.delete(key=key)
    except Exception:
        # The run's own failure is on its way to the record, and must not be hidden by this one.
        log.warning("file.not-taken-back", key=key, exc_info=True)
