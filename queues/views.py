"""The pages of a queue: the list, one item, and the POSTs that claim, release, renew and decide.

Looking never claims. A refusal shows the same page again with its words, and what was typed.
"""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _

from backoffice.errors import NotPermitted, Refusal, UnknownDefinition
from backoffice.pages import Page, new_key
from queues import acting, claiming, item_page, list_page, showing, undoing
from queues.base import Action, ClaimMode, Queue, queues
from queues.models import QueueItem

# What a refusal is answered with; every other code means that the item's state forbids the act.
STATUSES = {"gone": 404, "bad-key": 400, "bad-text": 400}


class QueuePage(Page):
    """Serve a page of one queue: who may view the queue may look, who may work in it may POST."""

    queue: Queue

    def setup(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        super().setup(request, *args, **kwargs)
        try:
            self.queue = queues.get(kwargs["queue"])
        except UnknownDefinition:
            raise Http404 from None

    def required_permission(self) -> str:
        return self.queue.work if self.request.method == "POST" else self.queue.view

    @property
    def works(self) -> bool:
        """Say whether this person may claim and decide here."""
        return self.person.has_perm(self.queue.work)

    @property
    def key(self) -> str:
        """The nonce that came with the form."""
        return self.request.POST.get("key", "")

    def number(self, name: str) -> int | None:
        """Read a posted whole number; none where the form left it empty."""
        text = self.request.POST.get(name, "")
        if not text:
            return None
        if not (text.isascii() and text.isdigit() and len(text) <= 18):
            raise BadRequest(f"{name} is not a number")
        return int(text)

    def listing(self, *, refusal: Refusal | None = None) -> HttpResponse:
        """Render the list, with the refusal's words where there is one."""
        context = list_page.context(queue=self.queue, person=self.person, query=self.request.GET, works=self.works)
        context |= self.saved_views(context)
        return self._answer("queues/list.html", context, refusal)

    def item(
        self, item_id: int, *, refusal: Refusal | None = None, action: str = "", tried: dict[str, str] | None = None
    ) -> HttpResponse:
        """Render the item, with the refusal's words and what was typed where there is one."""
        context = item_page.context(
            queue=self.queue,
            item=self.found(item_id),
            person=self.person,
            suffix=self.suffix,
            now=claiming.database_now(),
            works=self.works,
            refused=action if refusal else "",
            typed=self.request.POST.get("reason", "") if refusal and action else "",
        )
        context["tried"] = tried or {}
        return self._answer("queues/item.html", context, refusal)

    def found(self, item_id: int) -> QueueItem:
        """Return the item of the open tenant, or answer 404."""
        item = self.queue.model.objects.select_related("claim_holder").filter(pk=item_id).first()
        if item is None:
            raise Http404
        return item

    def saved_views(self, context: dict[str, Any]) -> dict[str, Any]:
        """Return the tabs above the list, and what the form that saves a view may do."""
        from queues import view_pages  # it builds on this module's page

        tabs = view_pages.tabs(self)
        known = any(tab["current"] for tab in tabs)
        return {
            "tabs": tabs,
            "plain_view": not context["filtered"] and not context["own_columns"],
            "saves_view": self.person.has_perm("queues.save_view") and not known,
            "shares_view": self.person.has_perm("queues.supervise"),
        }

    @property
    def suffix(self) -> str:
        """The filters of the list that the person came from, carried from page to page."""
        return list_page.suffix(queue=self.queue, query=self.request.GET)

    def take_next(self, key: str) -> int:
        """Hold the next free item within the filters that the person works under."""
        filters = list_page.filters_of(queue=self.queue, query=self.request.GET)
        filters.pop("claim", None)
        outcome = claiming.claim_next(actor=self.actor, queue=self.queue.name, filters=filters, key=key)
        return int(outcome.data["item_id"])

    def next_item(self) -> HttpResponse:
        """Hold and open the next item; where none can be had, go to the list and say why."""
        if self.queue.claims.mode is ClaimMode.DISABLED:
            return self.to_list()
        try:
            item_id = self.take_next(f"{self.key[:190]}:next")
        except Refusal as refusal:
            messages.warning(self.request, str(refusal.message))
            return self.to_list()
        return self.to_item(item_id)

    def to_item(self, item_id: int) -> HttpResponse:
        return _see(reverse("item", args=[self.queue.name, item_id]) + self.suffix)

    def to_list(self) -> HttpResponse:
        return _see(reverse("queue", args=[self.queue.name]) + self.suffix)

    def _answer(self, template: str, context: dict[str, Any], refusal: Refusal | None) -> HttpResponse:
        status = 200
        if refusal is not None:
            context["note"] = str(refusal.message)
            status = 403 if isinstance(refusal, NotPermitted) else STATUSES.get(refusal.code, 409)
        return self.page(context, template=template, status=status)


class QueueList(QueuePage):
    """List the queue in its order."""

    def get(self, request: HttpRequest, queue: str) -> HttpResponse:
        return self.listing()


class ClaimNext(QueuePage):
    """Hold the first free item and open it."""

    http_method_names = ["post", "options"]

    def post(self, request: HttpRequest, queue: str) -> HttpResponse:
        try:
            item_id = self.take_next(self.key)
        except Refusal as refusal:
            return self.listing(refusal=refusal)
        return self.to_item(item_id)


class ItemPage(QueuePage):
    """Show one item; looking never claims it."""

    def get(self, request: HttpRequest, queue: str, item_id: int) -> HttpResponse:
        return self.item(item_id)


class ClaimItem(QueuePage):
    """Hold this item and open it."""

    http_method_names = ["post", "options"]

    def post(self, request: HttpRequest, queue: str, item_id: int) -> HttpResponse:
        self.found(item_id)
        try:
            claiming.claim(actor=self.actor, queue=self.queue.name, item_id=item_id, key=self.key)
        except Refusal as refusal:
            return self.item(item_id, refusal=refusal)
        return self.to_item(item_id)


class ReleaseItem(QueuePage):
    """Give this item back and go to the list."""

    http_method_names = ["post", "options"]

    def post(self, request: HttpRequest, queue: str, item_id: int) -> HttpResponse:
        item = self.found(item_id)
        token = self.number("token") or 0
        try:
            claiming.release(actor=self.actor, queue=self.queue.name, item_id=item_id, token=token, key=self.key)
        except Refusal as refusal:
            return self.item(item_id, refusal=refusal)
        messages.info(request, _("%(reference)s is free again.") % {"reference": item.reference})
        return self.to_list()


class RenewItem(QueuePage):
    """Extend the hold of the page that is open; its script asks, and reads JSON."""

    http_method_names = ["post", "options"]

    def post(self, request: HttpRequest, queue: str, item_id: int) -> HttpResponse:
        self.found(item_id)
        token = self.number("token") or 0
        try:
            outcome = claiming.renew(
                actor=self.actor, queue=self.queue.name, item_id=item_id, token=token, key=self.key
            )
        except Refusal as refusal:
            status = STATUSES.get(refusal.code, 409)
            return JsonResponse({"code": refusal.code, "message": str(refusal.message)}, status=status)
        return JsonResponse({"until": outcome.data["lease_until"]})


class ActOnItem(QueuePage):
    """Decide this item, then open the next one where the person asked for that."""

    http_method_names = ["post", "options"]

    def post(self, request: HttpRequest, queue: str, item_id: int, action: str) -> HttpResponse:
        try:
            declared = self.queue.action(action)
        except UnknownDefinition:
            raise Http404 from None
        item = self.found(item_id)
        try:
            acting.act(
                actor=self.actor,
                action=declared,
                item_id=item_id,
                token=self.number("token"),
                version=self.number("version"),
                reason=request.POST.get("reason", ""),
                key=self.key,
            )
        except Refusal as refusal:
            return self.item(item_id, refusal=refusal, action=action)
        item.refresh_from_db()
        undo_url = reverse("item-undo", args=[queue, item_id]) + self.suffix
        offer = {"words": self._said(item, declared), "url": undo_url, "key": new_key()}
        if undoing.undoable(self.queue, item, self.person, now=claiming.database_now()) is None:
            offer["url"] = ""
        messages.success(request, render_to_string("queues/_decided.html", offer, request))
        return self.next_item() if request.POST.get("next") else self.to_item(item_id)

    def _said(self, item: QueueItem, action: Action) -> str:
        """Say what the action did: the new state, or what was noted where the item is as open as before."""
        if item.is_open and not action.decides:
            return _("%(reference)s: %(title)s") % {"reference": item.reference, "title": action.title}
        words = {"reference": item.reference, "state": showing.state(item)[0].lower()}
        return _("%(reference)s is now %(state)s.") % words


def _see(address: str) -> HttpResponse:
    response = HttpResponseRedirect(address)
    response.status_code = 303
    return response
