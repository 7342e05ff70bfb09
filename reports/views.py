"""The pages of reports."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from django.contrib.humanize.templatetags.humanize import intcomma
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from backoffice import clock, money
from backoffice.errors import NotPermitted, Refusal
from exports import file_pages
from exports.columns import Column, Kind
from reports import plotting, requesting
from reports.base import Report, reports
from reports.models import ReportRequest


class ReportPage(file_pages.FilePage):
    """Serve a page of reports."""

    area, one = "reports", "report"
    permission = "reports.request"
    registry = reports
    model = ReportRequest
    title = _("Reports")

    def state(self) -> dict[str, Any]:
        """Add the result's table and plot, as long as the file lives."""
        shown = super().state()
        if not shown["live"]:
            return shown
        rows = shown["artifact"].preview or []
        columns = self.definition.columns
        numbers = [column.kind in {Kind.INTEGER, Kind.DECIMAL} for column in columns]
        shown["result"] = {
            "columns": list(zip([column.name for column in columns], numbers, strict=True)),
            "rows": [list(zip(_for_people(columns, row), numbers, strict=True)) for row in rows],
            "plot": plotting.draw(self.definition, rows),
        }
        return shown


class ReportList(ReportPage, file_pages.ListPage):
    """List the reports."""


class ReportDetail(ReportPage, file_pages.RequestPage):
    """Show one requested report."""


class ReportProgress(ReportPage, file_pages.ProgressPage):
    """Serve its moving part."""


class ReportDownload(ReportPage, file_pages.DownloadPage):
    """Hand its file over."""

    permission = "reports.download"


class ReportRevoke(ReportPage, file_pages.RevokePage):
    """Withdraw its file."""

    permission = "storage.revoke_artifact"


class ReportCancel(ReportPage, file_pages.CancelPage):
    """Stop it."""

    def cancel(self) -> None:
        row = self.row
        assert isinstance(row, ReportRequest)
        requesting.cancel(actor=self.actor, key=self.posted_key, request=row)


class ReportNew(ReportPage):
    """Show the form with what it would cost; take the request."""

    definition: Report

    def get(self, request: HttpRequest, name: str) -> HttpResponse:
        today = clock.now().astimezone(ZoneInfo(self.tenant.time_zone)).date()
        proposed = {name: str(value) for name, value in self.definition.defaults(today=today).items()}
        return self._form({**proposed, **request.GET.dict()})

    def post(self, request: HttpRequest, name: str) -> HttpResponse:
        form = self.definition.form(request.POST)
        if not form.is_valid():
            return self._form(request.POST, status=422)
        try:
            made = requesting.request(
                actor=self.actor,
                key=self.posted_key,
                definition=self.definition,
                parameters=form.stored(),
                encoding=request.POST.get("encoding", ""),
            )
        except Refusal as refusal:
            return self._form(
                request.POST, note=str(refusal.message), status=403 if isinstance(refusal, NotPermitted) else 409
            )
        return file_pages.see(self.address("", made.pk))

    def _form(self, data: Any, *, note: str = "", status: int = 200) -> HttpResponse:
        context = {
            **self.frame(),
            "title": self.definition.title,
            "form": self.definition.form(data),
            "note": note,
            "columns": self.definition.columns,
            "need": self.definition.need,
            "encodings": file_pages.encodings(self.definition.encodings, chosen=data.get("encoding", "")),
            "limits": self.definition.stated_bounds().read(),
        }
        return self.page(context, template="exports/new.html", status=status)


def _for_people(columns: tuple[Column, ...], row: list[Any]) -> list[Any]:
    """Write the numbers of a row as people read them: money with its currency's digits, counts grouped."""
    values = {column.name: value for column, value in zip(columns, row, strict=True)}
    currency = values.get("currency")

    def shown(column: Column, value: Any) -> Any:
        if value is not None and column.kind is Kind.DECIMAL and currency:
            return money.show(Decimal(value), currency)
        if value is not None and column.kind is Kind.INSTANT:
            at = datetime.fromisoformat(value)
            return f"{at:%Y-%m-%d %H:%M:%S}" + (f" ({at.isoformat()[-6:]})" if at.tzinfo is not None else "")
        return intcomma(value) if column.kind in {Kind.INTEGER, Kind.DECIMAL} and value is not None else value

    return [shown(column, value) for column, value in zip(columns, row, strict=True)]
