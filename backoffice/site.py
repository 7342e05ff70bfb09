"""The admin site in our frame: members only, with the menu and front page that a person's roles allow."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.admin import AdminSite
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from backoffice.jobs import noticing
from backoffice.pages import new_key
from backoffice.tenants.models import User

PAGES = [
    (_("Payout releases"), "plans", "money.view_plan"),
    (_("Exports"), "exports", "exports.request"),
    (_("Reports"), "reports", "reports.request"),
    (_("Jobs"), "jobs", "jobs.view_job"),
    (_("Schedules"), "schedules", "schedules.view_schedule"),
    (_("Working hours"), "calendar", "queues.change_calendar"),
    (_("People"), "people", "tenants.manage_people"),
    (_("Definitions"), "definitions", "registry.view_definition"),
    (_("Settings"), "settings", "livesettings.change_setting"),
    (_("Codes"), "devices", "stepup.own_device stepup.issue_code"),
]


class BackofficeSite(AdminSite):
    """Serve the pages of one tenant. The stock site's permission check becomes membership."""

    site_header = _("Backoffice")
    site_title = _("Backoffice")
    index_template = "index.html"
    enable_nav_sidebar = False

    def has_permission(self, request: HttpRequest) -> bool:
        """Admit members of the tenant in the address; each page then asks for its own permission."""
        return isinstance(request.user, User) and getattr(request, "tenant", None) is not None

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        return redirect_to_login(request.get_full_path(), settings.LOGIN_URL)

    def password_change(  # type: ignore[override]  # the stock site's page is a template's, ours an address
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Lead to the person's own page: a password is changed by a command, on record, and nowhere else."""
        return redirect("me")

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        return {
            **super().each_context(request),
            "menu": self.menu(request),
            "tenant": getattr(request, "tenant", None),
            "notices": self.notices(request),
        }

    def notices(self, request: HttpRequest) -> dict[str, Any] | None:
        """Return the address of the person's notices and how to count the unread, which a page does only to show it."""
        user = request.user
        if not isinstance(user, User) or not self.has_permission(request) or not _may(user, "jobs.view_job"):
            return None
        return {"url": reverse("notices"), "unread": lambda: noticing.unread(user), "most": noticing.COUNTED - 1}

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        """Show the front page to the person: what waits, and the look-ups below."""
        from backoffice import front  # as in menu()

        person = request.user
        waiting = front.context(person=person) if isinstance(person, User) and self.has_permission(request) else {}
        return super().index(request, {"title": _("Today"), "key": new_key(), **waiting, **(extra_context or {})})

    def menu(self, request: HttpRequest) -> list[dict[str, Any]]:
        """List the pages that this person's roles open: label, address, and whether it is the current one."""
        from queues.base import queues  # the site is put together after the apps are loaded

        user = request.user
        if not isinstance(user, User):
            return []
        entries: list[tuple[Any, str, list[str], str]] = [
            *((queue.title, "queue", [queue.name], queue.view) for queue in queues),
            *((title, name, [], permission) for title, name, permission in PAGES),
        ]
        pages = [(_("Today"), reverse("home"))]
        pages += [(title, reverse(name, args=args)) for title, name, args, needed in entries if _may(user, needed)]
        return [{"label": str(title), "url": url, "current": _is_current(url, request.path)} for title, url in pages]


def _may(user: User, permissions: str) -> bool:
    """Say whether the person has one of the permissions."""
    return any(user.has_perm(permission) for permission in permissions.split())


def _is_current(url: str, path: str) -> bool:
    return path == url or (path.startswith(url) and url != reverse("home"))
