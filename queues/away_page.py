"""The page that says who takes shared-out work: everybody's for a supervisor, one's own for the rest."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from backoffice.errors import NotPermitted, Refusal
from backoffice.pages import Page, new_key
from backoffice.tenants.models import User
from queues import away, claiming, handing, setting_aside, sharing
from queues.base import queues


class AwayPage(Page):
    """List who takes work and who is away; take a change of it."""

    permission = "queues.claim"
    title = gettext_lazy("Who takes work")
    template_name = "queues/away.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        return self.shown(None)

    def post(self, request: HttpRequest) -> HttpResponse:
        text = request.POST.get("person", "")
        if not (text.isascii() and text.isdigit() and len(text) <= 18):
            raise BadRequest("a person is a number")
        on: dict[str, Any] = {"actor": self.actor, "person": int(text), "key": request.POST.get("key", "")}
        try:
            if request.POST.get("back"):
                away.come_back(**on)
                messages.success(request, _("Work is shared out to them again."))
            else:
                typed, until = request.POST.get("until", "").strip(), None
                if typed:
                    until = setting_aside.chosen(preset="", typed=typed, now=claiming.database_now())
                away.leave(until=until, note=request.POST.get("note", ""), **on)
                messages.success(request, _("Nothing is shared out to them until then."))
        except Refusal as refusal:
            return self.shown(refusal)
        response = HttpResponseRedirect(reverse("queue-away"))
        response.status_code = 303
        return response

    def shown(self, refusal: Refusal | None) -> HttpResponse:
        supervises = self.person.has_perm("queues.supervise")
        absent = sharing.away()
        people = _workers() if supervises else [self.person]
        context: dict[str, Any] = {
            "supervises": supervises,
            "people": [
                {"person": one, "absence": absent.get(one.pk), "key": new_key(), "own": one.pk == self.person.pk}
                for one in people
            ],
            "tried": self.request.POST if refusal else {},
        }
        status = 200
        if refusal is not None:
            context["note"] = str(refusal.message)
            status = 403 if isinstance(refusal, NotPermitted) else 409
        return self.page(context, status=status)


def _workers() -> list[User]:
    """Return everybody who may work in one of the queues, by name."""
    found = {one.pk: one for listed in queues for one in handing.workers(listed)}
    return sorted(found.values(), key=lambda one: (one.name, one.email))
