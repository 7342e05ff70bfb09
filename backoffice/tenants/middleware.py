"""The tenant in the address: `/t/<slug>/...` opens its scope, and `reverse()` keeps the prefix."""

from __future__ import annotations

import re
from collections.abc import Callable
from zoneinfo import ZoneInfo

from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import get_script_prefix, set_script_prefix
from django.utils import timezone, translation
from django.views.defaults import page_not_found

from backoffice.tenants import scope
from backoffice.tenants.models import Tenant

_TENANT_PATH = re.compile(r"^/t/(?P<slug>[-a-zA-Z0-9_]+)(?P<rest>/.*)?$")


class TenantMiddleware:
    """Open the address's tenant for a member; ask a visitor to sign in; answer 404 to anybody else."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        match = _TENANT_PATH.match(request.path_info)
        request.tenant = None  # type: ignore[attr-defined]  # set for every request, read by templates
        if match is None:
            return self.get_response(request)
        if not request.user.is_authenticated:
            return redirect_to_login(request.get_full_path(), settings.LOGIN_URL)
        tenant = Tenant.objects.filter(slug=match["slug"]).first()
        if tenant is None:
            return page_not_found(request, Http404())
        with scope.open(tenant):
            if request.user.roles_here() is None:
                return page_not_found(request, Http404())
            return self._under_prefix(request, tenant, match["slug"], match["rest"] or "/")

    def _under_prefix(self, request: HttpRequest, tenant: Tenant, slug: str, rest: str) -> HttpResponse:
        outer = get_script_prefix()
        request.tenant = tenant  # type: ignore[attr-defined]  # as above
        request.path_info = rest
        set_script_prefix(f"{outer}t/{slug}/")
        try:
            chosen = getattr(request.user, "language", "") or translation.get_language()
            with timezone.override(_zone(request.user, tenant)), translation.override(chosen):
                return self.get_response(request)
        finally:
            set_script_prefix(outer)


def _zone(person: AbstractBaseUser | AnonymousUser, tenant: Tenant) -> ZoneInfo:
    """Return the zone that times are shown in: the person's own, or the tenant's where they chose none."""
    return ZoneInfo(getattr(person, "time_zone", "") or tenant.time_zone)
