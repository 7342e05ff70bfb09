"""The pages of exports."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from backoffice.errors import NotPermitted, Refusal
from exports import estimating, file_pages, requesting
from exports.base import Export, exports
from exports.models import ExportRequest


class ExportPage(file_pages.FilePage):
    """Serve a page of exports."""

    area, one = "exports", "export"
    permission = "exports.request"
    registry = exports
    model = ExportRequest
    title = _("Exports")


class ExportList(ExportPage, file_pages.ListPage):
    """List the exports."""


class ExportDetail(ExportPage, file_pages.RequestPage):
    """Show one requested export."""


class ExportProgress(ExportPage, file_pages.ProgressPage):
    """Serve its moving part."""


class ExportDownload(ExportPage, file_pages.DownloadPage):
    """Hand its file over."""

    permission = "exports.download"


class ExportRevoke(ExportPage, file_pages.RevokePage):
    """Withdraw its file."""

    permission = "storage.revoke_artifact"


class ExportCancel(ExportPage, file_pages.CancelPage):
    """Stop it."""

    def cancel(self) -> None:
        row = self.row
        assert isinstance(row, ExportRequest)
        requesting.cancel(actor=self.actor, key=self.posted_key, request=row)


class ExportNew(ExportPage):
    """Show the form with what it would hold now; take the request."""

    definition: Export

    def get(self, request: HttpRequest, name: str) -> HttpResponse:
        return self._form(request.GET)

    def post(self, request: HttpRequest, name: str) -> HttpResponse:
        form = self.definition.form(request.POST)
        if not form.is_valid():
            return self._form(request.POST, status=422)
        if request.POST.get("act") == "look":
            return self._form(request.POST)
        try:
            made = requesting.request(
                actor=self.actor,
                key=self.posted_key,
                definition=self.definition,
                filters=form.stored(),
                encoding=request.POST.get("encoding", ""),
            )
        except Refusal as refusal:
            return self._form(request.POST, note=str(refusal.message), status=_status(refusal))
        return file_pages.see(self.address("", made.pk))

    def _form(self, data: Any, *, note: str = "", status: int = 200) -> HttpResponse:
        form = self.definition.form(data)
        look = None
        if form.is_valid():
            look = estimating.estimate(self.definition, form.cleaned_data, person=self.person)
        context = {
            **self.frame(),
            "title": self.definition.title,
            "form": form,
            "note": note,
            "look": look,
            "columns": self.definition.columns,
            "masked": sorted(self.definition.masked(self.person)),
            "encodings": file_pages.encodings(self.definition.encodings, chosen=data.get("encoding", "")),
            "limits": self.definition.stated_bounds().read(),
        }
        return self.page(context, template="exports/new.html", status=status)


def _status(refusal: Refusal) -> int:
    return 403 if isinstance(refusal, NotPermitted) else 409
