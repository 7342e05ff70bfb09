"""The POSTs on one item besides claiming and deciding: set it aside, hand it on, take it back, note.

Each is one command. A refusal shows the item again with its words and what was typed.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from backoffice.commands import Outcome
from backoffice.errors import Refusal
from queues import claiming, handing, noting, setting_aside, showing, undoing, wording
from queues.models import QueueItem
from queues.views import QueuePage


class ItemAct(QueuePage):
    """Run one command on the item, say so, and open the item again; subclasses name the command."""

    http_method_names = ["post", "options"]
    act: ClassVar[str]

    def post(self, request: HttpRequest, queue: str, item_id: int) -> HttpResponse:
        item = self.found(item_id)
        try:
            outcome = self.run({"actor": self.actor, "queue": queue, "item_id": item_id, "key": self.key})
        except Refusal as refusal:
            tried = {"act": self.act, **{name: self.text(name)[:4_000] for name in request.POST}}
            return self.item(item_id, refusal=refusal, tried=tried)
        return self.done(item, outcome)

    def run(self, on: dict[str, Any]) -> Outcome:
        """Dispatch the command."""
        raise NotImplementedError

    def done(self, item: QueueItem, outcome: Outcome) -> HttpResponse:
        """Say what happened and go on."""
        return self.to_item(item.pk)

    def text(self, name: str) -> str:
        """Read a posted text."""
        return self.request.POST.get(name, "")


class SkipItem(ItemAct):
    """Put the item behind for oneself, and open the next."""

    act = "skip"

    def run(self, on: dict[str, Any]) -> Outcome:
        return setting_aside.skip(token=self.number("token") or 0, **on)

    def done(self, item: QueueItem, outcome: Outcome) -> HttpResponse:
        until = wording.clock(_instant(outcome.data["until"]), now=claiming.database_now())
        words = {"reference": item.reference, "time": until}
        messages.info(self.request, _("You skipped %(reference)s; it returns to you at %(time)s.") % words)
        return self.next_item()


class SnoozeItem(ItemAct):
    """Put the item to sleep until a time, and open the next where the person asked for that."""

    act = "snooze"

    def run(self, on: dict[str, Any]) -> Outcome:
        now = claiming.database_now()
        until = setting_aside.chosen(preset=self.text("preset"), typed=self.text("until"), now=now)
        seen: dict[str, Any] = {"token": self.number("token"), "version": self.number("version")}
        return setting_aside.snooze(until=until, reason=self.text("reason"), **seen, **on)

    def done(self, item: QueueItem, outcome: Outcome) -> HttpResponse:
        until = wording.clock(_instant(outcome.data["until"]), now=claiming.database_now())
        words = {"reference": item.reference, "time": until}
        messages.info(self.request, _("%(reference)s sleeps until %(time)s.") % words)
        return self.to_list()


class WakeItem(ItemAct):
    """End the item's snooze."""

    act = "wake"

    def run(self, on: dict[str, Any]) -> Outcome:
        return setting_aside.wake(**on)


class HandItem(ItemAct):
    """Give one's own item to somebody else."""

    act = "hand"

    def run(self, on: dict[str, Any]) -> Outcome:
        to, token = self.number("to") or 0, self.number("token") or 0
        return handing.hand_over(to=to, token=token, note=self.text("note"), **on)

    def done(self, item: QueueItem, outcome: Outcome) -> HttpResponse:
        item.refresh_from_db()
        words = {"reference": item.reference, "name": str(item.claim_holder)}
        messages.info(self.request, _("%(reference)s is with %(name)s now.") % words)
        return self.to_list()


class SupervisorAct(ItemAct):
    """Ask for the supervisor's permission beside the queue's own, which the command asks for as well."""

    def required_permission(self) -> str:
        return "queues.supervise"


class MoveItem(SupervisorAct):
    """Move the item to a person; to oneself is a take-over."""

    act = "move"

    def run(self, on: dict[str, Any]) -> Outcome:
        to, token = self.number("to") or 0, self.number("token") or 0
        return handing.move(to=to, token=token, reason=self.text("reason"), **on)

    def done(self, item: QueueItem, outcome: Outcome) -> HttpResponse:
        item.refresh_from_db()
        words = {"reference": item.reference, "name": str(item.claim_holder)}
        messages.info(self.request, _("%(reference)s is with %(name)s now.") % words)
        return self.to_item(item.pk)


class FreeItem(SupervisorAct):
    """End somebody's hold."""

    act = "move"

    def run(self, on: dict[str, Any]) -> Outcome:
        return handing.free(token=self.number("token") or 0, reason=self.text("reason"), **on)


class UndoItem(ItemAct):
    """Take back one's own last decision."""

    act = "undo"

    def run(self, on: dict[str, Any]) -> Outcome:
        return undoing.undo(**on)

    def done(self, item: QueueItem, outcome: Outcome) -> HttpResponse:
        item.refresh_from_db()
        words = {"reference": item.reference, "state": showing.state(item)[0].lower()}
        if outcome.data["held"]:
            said = _("Undone: %(reference)s is %(state)s again, and you hold it.") % words
        else:
            said = _("Undone: %(reference)s is %(state)s again.") % words
        messages.success(self.request, said)
        return self.to_item(item.pk)


class ReopenItem(ItemAct):
    """Put a decided item into the queue again."""

    act = "reopen"

    def run(self, on: dict[str, Any]) -> Outcome:
        return undoing.reopen(version=self.number("version") or 0, reason=self.text("reason"), **on)

    def done(self, item: QueueItem, outcome: Outcome) -> HttpResponse:
        messages.info(self.request, _("%(reference)s is in the queue again.") % {"reference": item.reference})
        return self.to_item(item.pk)


class NoteItem(ItemAct):
    """Write a note on the item."""

    act = "note"

    def run(self, on: dict[str, Any]) -> Outcome:
        return noting.note(text=self.text("text"), **on)


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text)
