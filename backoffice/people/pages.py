"""The People page, one's own page, and the page behind an invitation's link."""

from __future__ import annotations

from typing import Any
from zoneinfo import available_timezones

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views import View
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from backoffice import clock, commands
from backoffice.errors import NotPermitted, Refusal
from backoffice.pages import Page, new_key
from backoffice.people import inviting, mailing, managing, own_account, signing_in
from backoffice.tenants import roles as known
from backoffice.tenants.models import Membership, User

ACTS = {"roles": managing.change_roles, "deactivate": managing.deactivate, "reactivate": managing.reactivate}


@method_decorator(never_cache, name="dispatch")
class People(Page):
    """List the tenant's people and invitations; invite, and show the link once."""

    permission = managing.PERMISSION
    title = gettext_lazy("People")
    template_name = "people/people.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        return self.listing()

    def post(self, request: HttpRequest) -> HttpResponse:
        address = request.POST.get("email", "").strip()
        roles = request.POST.getlist("roles")
        try:
            token = inviting.invite(actor=self.actor, email=address, roles=roles, key=request.POST.get("key", ""))
        except Refusal as refusal:
            return self.listing(refusal=refusal, typed=address, chosen=roles)
        return self.made(token)

    def made(self, token: str) -> HttpResponse:
        """Mail a new link where mail goes out, and show it this once."""
        invitation = inviting.find(token=token, now=clock.now())
        if invitation is None:  # another supervisor was quicker
            return self.listing(refusal=Refusal("gone", _("This invitation was used or ended already.")))
        # The link stands outside the tenant's prefix.
        path = reverse("invitation", args=[token], urlconf=settings.ROOT_URLCONF)
        path = path.removeprefix(f"/t/{self.tenant.slug}")
        link = f"{settings.PUBLIC_URL}{path}" if settings.PUBLIC_URL else self.request.build_absolute_uri(path)
        mailed = mailing.send_invitation(invitation=invitation, link=link)
        if mailed:
            commands.dispatch(
                inviting.note_mailed, actor=self.actor, key=f"mailed:{new_key()}", invitation=invitation.pk
            )
        return self.listing(link=link, invited=invitation.email, mailed=mailed, mails=mailing.possible())

    def listing(self, *, refusal: Refusal | None = None, **more: Any) -> HttpResponse:
        """Render the page, with what a POST adds to it."""
        context = {
            "members": Membership.objects.select_related("user").order_by("-active", "user__name", "user__email"),
            "roles": [role for role in known.ROLES if role != known.OPERATOR or self.tenant.is_platform],
            "invitations": inviting.waiting(),
            "now": clock.now(),
            "note": str(refusal.message) if refusal else "",
            **more,
        }
        return self.page(context, status=_status(refusal))


class ChangePerson(People):
    """Change a colleague's roles, deactivate or reactivate them."""

    http_method_names = ["post", "options"]

    def post(self, request: HttpRequest, person: int = 0, act: str = "") -> HttpResponse:
        if act not in ACTS:
            raise BadRequest("no such act")
        more: dict[str, Any] = {"roles": request.POST.getlist("roles")} if act == "roles" else {}
        try:
            commands.dispatch(ACTS[act], actor=self.actor, key=request.POST.get("key", ""), person=person, **more)
        except Refusal as refusal:
            return self.listing(refusal=refusal)
        done = {"roles": _("The roles are changed."), "deactivate": _("Deactivated."), "reactivate": _("Active again.")}
        messages.success(request, done[act])
        return _to(reverse("people"))


class RevokeInvitation(People):
    """End an invitation that nobody used yet."""

    http_method_names = ["post", "options"]

    def post(self, request: HttpRequest, invitation: int = 0) -> HttpResponse:
        key = request.POST.get("key", "")
        try:
            commands.dispatch(inviting.revoke_invitation, actor=self.actor, key=key, invitation=invitation)
        except Refusal as refusal:
            return self.listing(refusal=refusal)
        messages.info(request, _("The invitation is withdrawn: its link does not serve any more."))
        return _to(reverse("people"))


class ResendInvitation(People):
    """Make a new link for an invitation that nobody used yet, and mail it where mail goes out."""

    http_method_names = ["post", "options"]

    def post(self, request: HttpRequest, invitation: int = 0) -> HttpResponse:
        try:
            token = inviting.resend(actor=self.actor, invitation=invitation, key=request.POST.get("key", ""))
        except Refusal as refusal:
            return self.listing(refusal=refusal)
        return self.made(token)


@method_decorator([never_cache, sensitive_post_parameters()], name="dispatch")
class Me(Page):
    """Change one's own name, language, time zone and password."""

    permission = own_account.PERMISSION
    title = gettext_lazy("Your account")
    template_name = "people/me.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        return self.form()

    def post(self, request: HttpRequest) -> HttpResponse:
        try:
            if request.POST.get("act") == "password":
                self._change_password(request)
            else:
                wanted: dict[str, Any] = {
                    name: request.POST.get(name, "") for name in ("name", "language", "time_zone")
                }
                key = request.POST.get("key", "")
                commands.dispatch(own_account.choose, actor=self.actor, key=key, **wanted)
        except Refusal as refusal:
            return self.form(refusal=refusal)
        messages.success(request, _("Saved."))
        return _to(reverse("me"))

    def form(self, *, refusal: Refusal | None = None) -> HttpResponse:
        """Render the forms."""
        context = {
            "languages": sorted(settings.LANGUAGES, key=lambda pair: str(pair[1])),
            "zones": sorted(zone for zone in available_timezones() if "/" in zone or zone == "UTC"),
            "note": str(refusal.message) if refusal else "",
        }
        return self.page(context, status=_status(refusal))

    def _change_password(self, request: HttpRequest) -> None:
        new, again = request.POST.get("new", ""), request.POST.get("again", "")
        if own_account.locked(person=self.person):
            raise Refusal("locked", _("Too many wrong tries. Wait a quarter of an hour."))
        if new != again:
            raise Refusal("not-the-same", _("The two new passwords are not the same."))
        given: dict[str, Any] = {"current": request.POST.get("current", ""), "new": new}
        try:
            commands.dispatch(own_account.change_password, actor=self.actor, key=request.POST.get("key", ""), **given)
        except Refusal as refusal:
            if refusal.code == "wrong-password":
                signing_in.record(address=self.person.email, user=None)
            raise
        self.person.refresh_from_db()
        update_session_auth_hash(request, self.person)


@method_decorator([never_cache, sensitive_post_parameters()], name="dispatch")
class Accept(View):
    """Let an invited person choose a name and a password. A link that does not serve is a 404 like any other."""

    http_method_names = ["get", "head", "post", "options"]

    def get(self, request: HttpRequest, token: str) -> HttpResponse:
        return self.form(request, token)

    def post(self, request: HttpRequest, token: str) -> HttpResponse:
        invitation = inviting.find(token=token, now=clock.now())
        if invitation is None:
            return self.form(request, token)
        name, password = request.POST.get("name", ""), request.POST.get("password", "")
        try:
            if request.POST.get("again", password) != password:
                raise Refusal("not-the-same", _("The two passwords are not the same."))
            member = request.user if isinstance(request.user, User) else None
            key = f"accept:{new_key()}"
            inviting.accept(invitation=invitation, name=name, password=password, member=member, key=key)
        except Refusal as refusal:
            return self.form(request, token, refusal=refusal, typed=name)
        home = f"/t/{invitation.tenant.slug}/"
        return _to(home if isinstance(request.user, User) else f"{settings.LOGIN_URL}?next={home}")

    def form(
        self, request: HttpRequest, token: str, *, refusal: Refusal | None = None, typed: str = ""
    ) -> HttpResponse:
        """Render the page of a link that serves, or the one page of all that do not."""
        invitation = inviting.find(token=token, now=clock.now())
        if invitation is None:
            return render(request, "people/no_invitation.html", status=404)
        has_account = User.objects.filter(email__iexact=invitation.email).exists()
        signed_in = isinstance(request.user, User) and request.user.email.lower() == invitation.email.lower()
        context = {
            "invitation": invitation,
            "has_account": has_account,
            "signed_in": signed_in,
            "note": str(refusal.message) if refusal else "",
            "typed": typed,
        }
        return render(request, "people/accept.html", context, status=_status(refusal))


def _status(refusal: Refusal | None) -> int:
    if refusal is None:
        return 200
    return 403 if isinstance(refusal, NotPermitted) else 409


def _to(address: str) -> HttpResponse:
    response = HttpResponseRedirect(address)
    response.status_code = 303
    return response
