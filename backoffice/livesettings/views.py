"""The Settings page: every setting with its value in force, its bounds, and a form to change it."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from backoffice import commands
from backoffice.errors import Refusal
from backoffice.livesettings.base import settings
from backoffice.livesettings.changing import change_setting
from backoffice.livesettings.reading import in_force
from backoffice.pages import Page, new_key


class Settings(Page):
    """List the settings; a POST changes one for the open tenant (the platform's hold for all without their own)."""

    permission = "livesettings.change_setting"
    title = gettext_lazy("Settings")
    template_name = "livesettings/settings.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        return self.listing()

    def post(self, request: HttpRequest) -> HttpResponse:
        name, typed = request.POST.get("name", ""), request.POST.get("value", "").strip()
        try:
            if not (typed.isascii() and typed.isdigit() and len(typed) <= 18):
                raise Refusal("not-a-number", _("A setting is a whole number."))
            commands.dispatch(
                change_setting, actor=self.actor, key=request.POST.get("key", ""), name=name, value=int(typed)
            )
        except Refusal as refusal:
            return self.listing(status=409, refusal=refusal, refused=name, typed=typed[:20])
        messages.success(request, _("%(name)s is %(value)s from now on.") % {"name": name, "value": typed})
        return redirect("settings")

    def listing(
        self, *, status: int = 200, refusal: Refusal | None = None, refused: str = "", typed: str = ""
    ) -> HttpResponse:
        """Render the list; what was refused keeps what was typed."""
        values = in_force()
        rows = [
            {
                "setting": setting.describe(),
                "value": values[setting.name].value,
                "origin": values[setting.name].origin,
                "typed": typed if setting.name == refused else values[setting.name].value,
                "refusal": refusal if setting.name == refused else None,
                "key": new_key(),
            }
            for setting in settings
        ]
        return self.page({"rows": rows, "stray": refusal if refused not in values else None}, status=status)
