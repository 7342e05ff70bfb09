"""The pages of files, an export's and a report's alike: list, ask, watch, cancel, download, withdraw."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from backoffice import clock, commands, storage
from backoffice.errors import NotPermitted, Refusal, UnknownDefinition
from backoffice.pages import Page, new_key
from backoffice.registry import Registry
from exports.models import FileRequest

LISTED = 25
BADGES = {"done": "ok", "failed": "bad", "cancelled": "muted", "running": "warn", "queued": "muted"}
# The words of each state.
STATES = {
    "done": gettext_lazy("done"),
    "failed": gettext_lazy("failed"),
    "cancelled": gettext_lazy("cancelled"),
    "running": gettext_lazy("running"),
    "queued": gettext_lazy("waiting"),
}


class FilePage(Page):
    """Serve a page of one kind of file. The person needs the area's permission and the definition's."""

    area: ClassVar[str]
    one: ClassVar[str]
    registry: ClassVar[Registry[Any]]
    model: ClassVar[type[FileRequest]]
    definition: Any = None
    request_row: FileRequest | None = None

    def setup(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        super().setup(request, *args, **kwargs)
        # Outside a tenant, or for a visitor, the base answers before anything is looked up.
        if getattr(request, "tenant", None) is None or not request.user.is_authenticated:
            return
        name = kwargs.get("name")
        if "request_id" in kwargs:
            self.request_row = self._find(kwargs["request_id"])
            name = self.request_row.definition
        if name is not None:
            try:
                self.definition = self.registry.get(name)
            except UnknownDefinition:
                raise Http404 from None

    def required_permission(self) -> str:
        if self.definition is not None and self.person.has_perm(self.permission):
            return str(self.definition.permission)
        return self.permission

    @property
    def row(self) -> FileRequest:
        """The request that the address names."""
        if self.request_row is None:
            raise Http404
        return self.request_row

    @property
    def posted_key(self) -> str:
        """The nonce that came with the form."""
        return self.request.POST.get("key", "")

    def address(self, act: str, *args: Any) -> str:
        """Return an address of this area: "", "request", "progress", "cancel", "download", "revoke"."""
        return reverse(f"{self.one}-{act}" if act else self.one, args=args)

    def shown(self, *, refusal: Refusal | None = None, template: str = "exports/request.html") -> HttpResponse:
        """Render the request's page, with a refusal's words where there is one."""
        context = {**self.frame(), **self.state(), "note": str(refusal.message) if refusal else ""}
        status = 200 if refusal is None else 403 if isinstance(refusal, NotPermitted) else 409
        return self.page(context, template=template, status=status)

    def frame(self) -> dict[str, Any]:
        """Return what every page of the area shows."""
        return {"area": self.area, "list_url": reverse(self.area), "definition": self.definition}

    def state(self) -> dict[str, Any]:
        """Return what the request's page shows: how it stands, what it made, who downloaded it."""
        row, now = self.row, clock.now()
        artifact = row.artifact
        live = artifact is not None and artifact.is_live(now=now)
        job = row.job if row.is_on_its_way else None
        return {
            "row": row,
            "asked": self.asked(),
            "written_as": encodings((row.encoding,), chosen=row.encoding)[0]["label"],
            "title": _("%(what)s, number %(number)d") % {"what": self.definition.title, "number": row.pk},
            "badge": BADGES.get(row.state, "muted"),
            "state_word": STATES.get(row.state, row.state),
            "reason": row.failure or (row.job.safe_reason if row.job is not None else ""),
            "artifact": artifact,
            "as_of": parse_datetime(artifact.manifest["as_of"]) if artifact is not None else None,
            "live": live,
            "downloads": list(storage.downloads(artifact=artifact)[:50]) if artifact is not None else [],
            "job": job,
            "progress": job.progress if job is not None else None,
            "step": job.steps.exclude(total=None).last() if job is not None else None,
            "ahead": self.ahead(),
            "may_download": live and self.person.has_perm(f"{self.area}.download"),
            "may_revoke": live and self.person.has_perm("storage.revoke_artifact"),
            "may_cancel": job is not None and job.cancel_requested_at is None,
            "progress_url": self.address("progress", row.pk),
            "cancel_url": self.address("cancel", row.pk),
            "download_url": self.address("download", row.pk),
            "revoke_url": self.address("revoke", row.pk),
            "cancel_key": new_key(),
            "revoke_key": new_key(),
        }

    def asked(self) -> list[tuple[str, str]]:
        """Return what the request was narrowed by, in the words of its form."""
        fields = self.definition.form().fields
        return [(str(fields[name].label), self.row.arguments[name]) for name in fields if name in self.row.arguments]

    def ahead(self) -> int | None:
        """Count the requests of the open tenant that stand before this one in the queue."""
        if self.row.state != "queued":
            return None
        return self.model.objects.filter(job__state="queued", pk__lt=self.row.pk).count()

    def _find(self, request_id: int) -> FileRequest:
        found = self.model.objects.select_related("artifact", "job", "requested_by").filter(pk=request_id).first()
        if found is None:
            raise Http404
        return found


class ListPage(FilePage):
    """List what can be asked for, and what was, the newest first."""

    def get(self, request: HttpRequest) -> HttpResponse:
        readable = [one for one in self.registry if self.person.has_perm(one.permission)]
        rows = self.model.objects.select_related("artifact", "job", "requested_by")
        rows = rows.filter(definition__in=[one.name for one in readable]).order_by("-id")
        before = request.GET.get("before", "")
        if before.isascii() and before.isdigit() and len(before) < 19:
            rows = rows.filter(pk__lt=int(before))
        page = list(rows[: LISTED + 1])
        titles = {one.name: one.title for one in readable}
        now = clock.now()
        listed = [
            {
                "row": row,
                "title": titles[row.definition],
                "url": self.address("", row.pk),
                "badge": BADGES.get(row.state, "muted"),
                "state_word": STATES.get(row.state, row.state),
                "live": row.artifact is not None and row.artifact.is_live(now=now),
            }
            for row in page[:LISTED]
        ]
        older = page[LISTED - 1].pk if len(page) > LISTED else None
        offered = [{"definition": one, "url": self.address("request", one.name)} for one in readable]
        context = {**self.frame(), "offered": offered, "listed": listed, "older": older}
        return self.page(context, template="exports/list.html")


class RequestPage(FilePage):
    """Show one request: how far it is, what it made, until when, who downloaded it."""

    def get(self, request: HttpRequest, request_id: int) -> HttpResponse:
        return self.shown()


class ProgressPage(FilePage):
    """Serve the part of the request's page that moves."""

    def get(self, request: HttpRequest, request_id: int) -> HttpResponse:
        return self.shown(template="exports/_state.html")


class CancelPage(FilePage):
    """Stop a request that is on its way."""

    def post(self, request: HttpRequest, request_id: int) -> HttpResponse:
        try:
            self.cancel()
        except Refusal as refusal:
            return self.shown(refusal=refusal)
        messages.success(request, _("It is being stopped."))
        return see(self.address("", request_id))

    def cancel(self) -> None:
        """Dispatch the area's own cancellation."""
        raise NotImplementedError


class DownloadPage(FilePage):
    """Hand the file over: audited, then a link that lives for a minute."""

    def post(self, request: HttpRequest, request_id: int) -> HttpResponseBase:
        artifact = self.row.artifact
        if artifact is None:
            return self.shown(refusal=Refusal("not-done", _("There is no file yet.")))
        try:
            link = storage.download(actor=self.actor, key=self.posted_key, artifact_id=artifact.pk)
        except Refusal as refusal:
            return self.shown(refusal=refusal)
        response: HttpResponseBase
        if link.stream is None:
            response = HttpResponseRedirect(link.url, status=303)
        else:
            response = StreamingHttpResponse(link.stream, content_type=artifact.content_type)
            response["Content-Disposition"] = storage.disposition(artifact.filename)
            response["Content-Length"] = str(artifact.bytes)
        response["Cache-Control"] = "no-store"
        response["Referrer-Policy"] = "no-referrer"
        return response


class RevokePage(FilePage):
    """Withdraw the file before its time."""

    def post(self, request: HttpRequest, request_id: int) -> HttpResponse:
        artifact = self.row.artifact
        if artifact is None:
            return self.shown(refusal=Refusal("not-done", _("There is no file yet.")))
        try:
            commands.dispatch(storage.revoke_artifact, actor=self.actor, key=self.posted_key, artifact_id=artifact.pk)
        except Refusal as refusal:
            return self.shown(refusal=refusal)
        messages.success(request, _("The file was withdrawn; its links no longer open anything."))
        return see(self.address("", request_id))


def see(address: str) -> HttpResponse:
    """Send the browser to the page that shows what the POST did."""
    return HttpResponseRedirect(address, status=303)


def encodings(offered: tuple[str, ...], *, chosen: str) -> list[dict[str, Any]]:
    """Return the choices of an encoding in people's words."""
    words = {
        "utf-8-sig": _("CSV for a spreadsheet (UTF-8 with a byte order mark)"),
        "utf-8": _("CSV for a program (plain UTF-8)"),
        "xlsx": _("Excel workbook (XLSX)"),
    }
    wanted = chosen if chosen in offered else offered[0]
    return [{"value": one, "label": words.get(one, one), "chosen": one == wanted} for one in offered]
