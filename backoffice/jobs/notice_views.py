"""A person's notices: what has ended of the work they asked for."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext_lazy

from backoffice import commands
from backoffice.errors import Refusal
from backoffice.jobs import noticing, reaching
from backoffice.pages import Page

PAGE = 50


class Notices(Page):
    """List the notices, the newest first."""

    permission = "jobs.view_job"
    title = gettext_lazy("Notices")
    template_name = "jobs/notices.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        return self.show()

    def show(self, *, status: int = 200, **more: Any) -> HttpResponse:
        """Render the page."""
        before = number(self.request.GET.get("before", ""))
        told = noticing.page(person=self.person, before=before, size=PAGE + 1)
        rows = told[:PAGE]
        context = {
            "rows": rows,
            "any_unread": any(row.notice.read_at is None for row in rows),
            "newest": rows[0].notice.pk if rows else 0,
            "before": before,
            "next": rows[-1].notice.pk if len(told) > PAGE else None,
            "all_tenants": reaching.sees_all(self.person),
            **more,
        }
        return self.page(context, status=status)


class Read(Notices):
    """Take a POST that marks one notice, or what the page showed and everything older, as read."""

    http_method_names = ["post", "options"]

    def post(self, request: HttpRequest, notice_id: int | None = None) -> HttpResponse:
        key = request.POST.get("key", "")
        try:
            if notice_id is None:
                up_to = number(request.POST.get("up_to", ""))
                commands.dispatch(noticing.read_all, actor=self.actor, key=key, up_to=up_to)
            else:
                commands.dispatch(noticing.read, actor=self.actor, key=key, notice_id=number(str(notice_id)))
        except Refusal as refusal:
            if refusal.code == "no-such-notice":
                raise Http404 from None
            return self.show(status=409, refusal=refusal)
        return redirect("notices")


def number(text: str) -> int:
    """Read a key; what is none reads as 0, which names nothing."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else 0
