"""Signing in and out, and the way from there to a tenant."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import admin
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, LogoutView
from django.core.exceptions import NON_FIELD_ERRORS
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views import View

from backoffice.people import signing_in
from backoffice.people.signing_in import SignInForm
from backoffice.tenants import scope
from backoffice.tenants.models import Membership, Tenant, User


class SignIn(LoginView):
    """Sign a person in, then send them where they wanted to go. Each try is audited."""

    authentication_form = SignInForm
    template_name = "sign_in.html"
    redirect_authenticated_user = True

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        response = super().form_valid(form)
        signing_in.record(address=form.cleaned_data["username"], user=form.get_user())
        return response

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        locked = form.has_error(NON_FIELD_ERRORS, code="locked")
        address = str(form.data.get("username", "")).replace("\x00", "")[:200]
        signing_in.record(address=address, user=None, locked=locked)
        response = super().form_invalid(form)
        response.status_code = 422
        return response


class SignOut(LogoutView):
    """End the session."""

    next_page = settings.LOGIN_URL
    http_method_names = ["post", "options"]


class Home(View):
    """Show the tenant's front page; outside a tenant, send a person to theirs or let them choose."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not isinstance(request.user, User):
            return redirect(settings.LOGIN_URL)
        return super().dispatch(request, *args, **kwargs)

    def get(self, request: HttpRequest) -> HttpResponse:
        if getattr(request, "tenant", None) is not None:
            return admin.site.index(request)
        with scope.unscoped(reason="a person's own tenants, to choose one from"):
            tenants = list(
                Tenant.objects.filter(pk__in=Membership.objects.filter(user=request.user, active=True).values("tenant"))
            )
        if len(tenants) == 1:
            return HttpResponseRedirect(f"{request.path}t/{tenants[0].slug}/")
        return render(request, "choose_tenant.html", {"tenants": tenants})
