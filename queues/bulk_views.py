"""The page that does one thing to many items: first what was chosen and what can be done, then what came of each."""

from __future__ import annotations

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from backoffice.errors import Refusal
from queues import bulk, claiming, handing, list_page, setting_aside
from queues.base import ClaimMode
from queues.models import QueueItem
from queues.views import QueuePage

SHOWN = 20


class BulkPage(QueuePage):
    """Show the choice (from the list), then run it (from its own form, whose ids travel in one field)."""

    http_method_names = ["post", "options"]

    def post(self, request: HttpRequest, queue: str) -> HttpResponse:
        again = "act" in request.POST
        items: list[QueueItem] = []
        try:
            items = self._chosen(again)
            if again:
                return self._ran(items)
        except Refusal as refusal:
            return self._choice(items, refusal) if items else self.listing(refusal=refusal)
        return self._choice(items, None)

    def _chosen(self, again: bool) -> list[QueueItem]:
        texts = self.request.POST.get("ids", "").split(",") if again else self.request.POST.getlist("ids[]")
        ids = [text for text in texts if text]
        if not all(text.isascii() and text.isdigit() and len(text) <= 18 for text in ids):
            raise BadRequest("ids are numbers")
        return bulk.choose(
            queue=self.queue,
            filters=list_page.filters_of(queue=self.queue, query=self.request.GET),
            person=self.person,
            ids=[int(text) for text in ids],
            everything=not again and self.request.POST.get("all") == "1",
        )

    def _ran(self, items: list[QueueItem]) -> HttpResponse:
        posted = self.request.POST
        act, until = posted.get("act", ""), None
        reason = posted.get("reason", "")
        if act == "snooze":
            now = claiming.database_now()
            until = setting_aside.chosen(preset=posted.get("preset", ""), typed=posted.get("until", ""), now=now)
            setting_aside.reason_kept(reason)
        wish = bulk.Wish(act=act, to=self._receivers(), until=until, reason=reason)
        if act == "assign" and not wish.to:
            raise Refusal("nobody-chosen", _("Choose a person."))
        answers = bulk.run(actor=self.actor, queue=self.queue, items=items, wish=wish, key=self.key)
        refused = [answer for answer in answers if answer.refused]
        context = {
            "queue": self.queue,
            "suffix": self.suffix,
            "title": str(self.queue.title),
            "total": len(answers),
            "done": len(answers) - len(refused),
            "refused": refused,
        }
        return self.page(context, template="queues/bulk_done.html")

    def _receivers(self) -> tuple[int, ...]:
        texts = self.request.POST.getlist("to")[: handing.MOST]
        if not all(text.isascii() and text.isdigit() and len(text) <= 18 for text in texts):
            raise BadRequest("people are numbers")
        return tuple(int(text) for text in texts)

    def _choice(self, items: list[QueueItem], refusal: Refusal | None) -> HttpResponse:
        claims = self.queue.claims.mode is not ClaimMode.DISABLED
        supervises = self.person.has_perm("queues.supervise")
        context = {
            "queue": self.queue,
            "suffix": self.suffix,
            "title": str(self.queue.title),
            "count": len(items),
            "ids": ",".join(str(item.pk) for item in items),
            "first": items[:SHOWN],
            "more": max(0, len(items) - SHOWN),
            "claims": claims,
            "supervises": supervises,
            "people": handing.workers(self.queue) if claims and supervises else [],
            "presets": setting_aside.presets(now=claiming.database_now()),
            "tried": {name: self.request.POST.get(name, "") for name in ("act", "reason", "preset", "until")},
            "tried_people": self.request.POST.getlist("to"),
        }
        return self._answer("queues/bulk.html", context, refusal)
