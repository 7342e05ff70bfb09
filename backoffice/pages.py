"""The base of every page of our own: who may see it, and the site's frame around it."""

from __future__ import annotations

from typing import Any, ClassVar
from uuid import uuid4

from django.conf import settings
from django.contrib import admin
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.views import View

from backoffice.audit import recording
from backoffice.audit.models import AuditEvent
from backoffice.commands import Actor
from backoffice.tenants.models import Tenant, User


class Page(View):
    """Serve one page of the open tenant to people whose roles grant `permission`.

    No tenant in the address: 404. Not signed in: the sign-in page. No permission: 403, audited.
    Every change is a POST, and its form carries a fresh `key` (see `new_key`).
    """

    permission: ClassVar[str]
    template_name: ClassVar[str] = ""
    title: ClassVar[str | Promise] = ""
    person: User
    tenant: Tenant

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        tenant = getattr(request, "tenant", None)
        if tenant is None:
            raise Http404
        if not isinstance(request.user, User):
            return redirect_to_login(request.get_full_path(), settings.LOGIN_URL)
        self.tenant, self.person = tenant, request.user
        needed = self.required_permission()
        if not request.user.has_perm(needed):
            self._audit_refusal(request, needed)
            raise PermissionDenied(_("Your roles here do not include this page."))
        return super().dispatch(request, *args, **kwargs)

    def required_permission(self) -> str:
        """Return the permission this request needs; pages over a definition override it."""
        return self.permission

    @property
    def actor(self) -> Actor:
        return Actor.person(self.person)

    def page(self, context: dict[str, Any] | None = None, *, template: str = "", status: int = 200) -> HttpResponse:
        """Render the page in the site's frame."""
        full = {
            **admin.site.each_context(self.request),
            "title": self.title,
            "key": new_key(),
            "tenant": self.tenant,
            **(context or {}),
        }
        return render(self.request, template or self.template_name, full, status=status)

    def _audit_refusal(self, request: HttpRequest, needed: str) -> None:
        recording.record(
            actor=self.person.email,
            actor_user_id=self.person.pk,
            act="page.open",
            outcome=AuditEvent.Outcome.REFUSED,
            code="not-permitted",
            data={"path": request.path[:500], "method": request.method, "permission": needed},
        )


def new_key() -> str:
    """Make the nonce of one form: the idempotency key of what it submits."""
    return uuid4().hex
