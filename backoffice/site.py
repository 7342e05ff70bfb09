"""The admin site in our frame: members only, with the menu and front page that a person's roles allow."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.admin import AdminSite
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from backoffice.tenants.models import User


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

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        return {**super().each_context(request), "menu": self.menu(request), "tenant": request.tenant}  # type: ignore[attr-defined]

    def menu(self, request: HttpRequest) -> list[dict[str, Any]]:
        """List the pages that this person's roles open: label, address, and whether it is the current one."""
        from queues.base import queues  # the site is put together after the apps are loaded

        entries: list[tuple[str, str, str]] = [
            (str(queue.title), reverse("queue", args=[queue.name]), queue.view_permission) for queue in queues
        ]
        entries += [
            (str(_("Payout releases")), reverse("plans"), "money.view_plan"),
            (str(_("Exports")), reverse("exports"), "exports.request"),
            (str(_("Reports")), reverse("reports"), "reports.request"),
            (str(_("Jobs")), reverse("jobs"), "jobs.view_job"),
            (str(_("Codes")), reverse("devices"), "stepup.own_device"),
        ]
        user = request.user
        return [
            {"label": label, "url": url, "current": request.path.startswith(url)}
            for label, url, permission in entries
            if isinstance(user, User) and user.has_perm(permission)
        ]
