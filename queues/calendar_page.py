"""The page of the tenant's working hours and holidays: what every due time is worked out by."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import formats, timezone
from django.utils.dates import WEEKDAYS
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from backoffice import clock, commands
from backoffice.errors import NotPermitted, Refusal
from backoffice.pages import Page
from backoffice.schedules import zones
from queues import calendars, changing_calendar, hours

LONGEST = 200


class CalendarPage(Page):
    """Show the working hours of each weekday and the holidays; a POST sets the hours."""

    permission = changing_calendar.PERMISSION
    title = gettext_lazy("Working hours")
    template_name = "queues/calendar.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        return self.form()

    def post(self, request: HttpRequest) -> HttpResponse:
        typed = [request.POST.get(f"day-{number}", "")[:LONGEST] for number in range(changing_calendar.DAYS)]
        version = request.POST.get("version", "")
        try:
            week, wrong = [], {}
            for number, text in enumerate(typed):
                try:
                    week.append([list(pair) for pair in hours.parse(text)])
                except Refusal as refusal:
                    wrong[number] = str(refusal.message)
            if wrong:
                return self.form(typed=typed, wrong=wrong, note=_("Look at the marked days."))
            seen = int(version) if version.isascii() and version.isdigit() and len(version) < 10 else -1
            self.dispatch_change(changing_calendar.set_hours, hours_by_day=week, version=seen)
        except Refusal as refusal:
            return self.form(typed=typed, refusal=refusal)
        messages.success(request, _("The working hours are set. Due times follow within moments."))
        return self.back()

    def dispatch_change(self, change: commands.Command, **arguments: Any) -> None:
        """Dispatch one of the calendar's commands under the form's key."""
        commands.dispatch(change, actor=self.actor, key=self.request.POST.get("key", ""), **arguments)

    def back(self) -> HttpResponse:
        response = HttpResponseRedirect(reverse("calendar"))
        response.status_code = 303
        return response

    def form(
        self,
        *,
        refusal: Refusal | None = None,
        typed: list[str] | None = None,
        wrong: dict[int, str] | None = None,
        note: str = "",
        holiday: dict[str, str] | None = None,
    ) -> HttpResponse:
        """Render the page; what was refused keeps what was typed."""
        kept = calendars.kept()
        shown = typed or [hours.write(day) for day in kept.calendar.hours]
        today = clock.now().astimezone(zones.load(kept.calendar.zone)).date()
        context = {
            "days": [
                {"number": number, "label": str(WEEKDAYS[number]), "text": text, "wrong": (wrong or {}).get(number, "")}
                for number, text in enumerate(shown)
            ],
            "version": kept.version,
            "zone": kept.calendar.zone,
            "local_time": formats.time_format(timezone.localtime(clock.now(), zones.load(kept.calendar.zone)), "H:i"),
            "coming": [(day, name) for day, name in kept.holidays if day >= today],
            "past": [(day, name) for day, name in reversed(kept.holidays) if day < today],
            "earliest": changing_calendar.EARLIEST,
            "latest": changing_calendar.LATEST,
            "holiday": holiday or {},
            "note": str(refusal.message) if refusal else note,
        }
        status = 200 if not context["note"] else 403 if isinstance(refusal, NotPermitted) else 409
        return self.page(context, status=status)


class AddHoliday(CalendarPage):
    """Name a day off."""

    http_method_names = ["post", "options"]

    def post(self, request: HttpRequest) -> HttpResponse:
        day, name = request.POST.get("day", "")[:LONGEST], request.POST.get("name", "")[:LONGEST]
        try:
            self.dispatch_change(changing_calendar.add_holiday, day=day, name=name)
        except Refusal as refusal:
            return self.form(refusal=refusal, holiday={"day": day, "name": name})
        messages.success(request, _("The holiday is entered. Due times follow within moments."))
        return self.back()


class RemoveHoliday(CalendarPage):
    """Make a holiday a day like any other."""

    http_method_names = ["post", "options"]

    def post(self, request: HttpRequest) -> HttpResponse:
        try:
            self.dispatch_change(changing_calendar.remove_holiday, day=request.POST.get("day", "")[:LONGEST])
        except Refusal as refusal:
            return self.form(refusal=refusal)
        messages.success(request, _("The holiday is removed. Due times follow within moments."))
        return self.back()
