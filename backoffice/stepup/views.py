"""The Codes pages: one's own devices, a new one, and enrolment codes and removals for others."""

from __future__ import annotations

from typing import Any

import segno
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from backoffice import clock, commands
from backoffice.audit import recording
from backoffice.errors import Refusal
from backoffice.pages import Page
from backoffice.stepup import enrolling, removing, spending
from backoffice.stepup.models import Device
from backoffice.tenants.models import User


class Devices(Page):
    """List one's devices and what happened to them; for those who may, other people's."""

    title = gettext_lazy("Codes")
    template_name = "stepup/devices.html"

    def required_permission(self) -> str:
        """Open the page to owners of devices and to those who only issue codes."""
        own = "stepup.own_device"
        return own if self.person.has_perm(own) else "stepup.issue_code"

    def get(self, request: HttpRequest) -> HttpResponse:
        return self.listing()

    def listing(self, *, status: int = 200, **more: Any) -> HttpResponse:
        """Render the list, with what a POST adds to it."""
        issues = self.person.has_perm("stepup.issue_code")
        others = Device.objects.exclude(person=self.person).filter(state=Device.State.ACTIVE)
        context = {
            "own": self.person.has_perm("stepup.own_device"),
            "devices": Device.objects.filter(person=self.person, state=Device.State.ACTIVE),
            "now": clock.now(),
            "events": _history(self.person),
            "issues": issues,
            "people": enrolling.eligible_people(besides=self.person) if issues else [],
            "others": others.select_related("person", "removal", "removal__asked_by") if issues else [],
            **more,
        }
        return self.page(context, status=status)


@method_decorator([never_cache, sensitive_post_parameters("password", "proof")], name="dispatch")
class NewDevice(Page):
    """Ask for the password and the proof, then show the secret once."""

    permission = "stepup.own_device"
    title = gettext_lazy("Enrol a device")
    template_name = "stepup/new_device.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        return self._form()

    def post(self, request: HttpRequest) -> HttpResponse:
        try:
            started = enrolling.start(
                person=self.person,
                name=request.POST.get("name", ""),
                password=request.POST.get("password", ""),
                proof=request.POST.get("proof", ""),
                key=request.POST.get("key", ""),
            )
        except Refusal as refusal:
            return self._form(status=422, refusal=refusal, name=request.POST.get("name", ""))
        context = {
            "device": started.device,
            "secret": " ".join(started.secret[i : i + 4] for i in range(0, len(started.secret), 4)),
            "qr": segno.make(started.uri, error="m", micro=False).svg_data_uri(scale=5, border=4, light="white"),
        }
        return self.page(context, template="stepup/activate.html")

    def _form(self, *, status: int = 200, **more: Any) -> HttpResponse:
        first = not spending.active_devices(self.person)
        return self.page({"first": first, **more}, status=status)


@method_decorator([never_cache, sensitive_post_parameters("code")], name="dispatch")
class ActivateDevice(Page):
    """Take the new device's first code. The secret is not shown again."""

    permission = "stepup.own_device"
    title = gettext_lazy("Enrol a device")
    template_name = "stepup/activate.html"

    def post(self, request: HttpRequest, device: int) -> HttpResponse:
        try:
            enrolling.activate(
                person=self.person,
                device_id=device,
                code=request.POST.get("code", ""),
                key=request.POST.get("key", ""),
            )
        except Refusal as refusal:
            found = Device.objects.filter(pk=device, person=self.person, state=Device.State.PENDING).first()
            if found is None or refusal.code == "not-pending":
                messages.error(request, str(refusal.message))
                return redirect("device-new")
            return self.page({"device": found, "refusal": refusal}, status=422)
        messages.success(request, _("The device is enrolled."))
        return redirect("devices")


@method_decorator(never_cache, name="dispatch")
class IssueCode(Devices):
    """Issue an enrolment code for another person and show it once."""

    def required_permission(self) -> str:
        return "stepup.issue_code"

    def get(self, request: HttpRequest) -> HttpResponse:
        return redirect("devices")

    def post(self, request: HttpRequest) -> HttpResponse:
        text = request.POST.get("person", "")
        try:
            code = enrolling.issue_code(
                actor=self.actor,
                person_id=int(text) if text.isascii() and text.isdigit() and len(text) < 18 else 0,
                key=request.POST.get("key", ""),
            )
        except Refusal as refusal:
            return self.listing(status=422, refusal=refusal)
        issued_to = next(p for p in enrolling.eligible_people(besides=self.person) if p.pk == int(text))
        return self.listing(issued=code, issued_to=issued_to)


class RemoveDevice(Page):
    """Ask for the removal of another person's lost device, or agree to it."""

    permission = "stepup.issue_code"

    def post(self, request: HttpRequest, device: int) -> HttpResponse:
        act = removing.agree_removal if request.POST.get("act") == "agree" else removing.ask_removal
        try:
            commands.dispatch(act, actor=self.actor, key=request.POST.get("key", ""), device_id=device)
        except Refusal as refusal:
            messages.error(request, str(refusal.message))
        else:
            messages.success(request, _("Done."))
        return redirect("devices")


def _history(person: User) -> list[dict[str, Any]]:
    """Return the latest acts on the person's devices, in words; what each code said stays with its plan."""
    words = {
        "device.issue-code": _("an enrolment code was issued"),
        "device.start": _("enrolling a device was started"),
        "device.activate": _("a device was enrolled"),
        "device.enrol-demo": _("the demo's device was enrolled"),
        "device.ask-removal": _("removing a device was asked for"),
        "device.agree-removal": _("a device was removed"),
    }
    events = list(recording.timeline(target=f"person:{person.pk}").filter(act__in=words)[:10])
    names = dict(User.objects.filter(pk__in=[e.actor_user_id for e in events]).values_list("pk", "name"))
    return [
        {
            "at": event.at,
            "words": _("%(act)s (refused)") % {"act": words[event.act]} if event.code else words[event.act],
            "who": names.get(event.actor_user_id or 0, event.actor.removeprefix("system:")),
        }
        for event in events
    ]
