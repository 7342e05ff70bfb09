"""How an item is written for people: its cells, its facts, its timeline in words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import models
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from backoffice import money
from backoffice.audit.models import AuditEvent
from backoffice.tenants.models import User
from queues.base import Queue
from queues.models import QueueItem

OWN_FACTS = ("reference", "opened_at")
STATE_CLASSES = {
    "approved": "badge--ok",
    "paid": "badge--ok",
    "resolved": "badge--ok",
    "cleared": "badge--ok",
    "held": "badge--warn",
    "escalated": "badge--warn",
    "returned": "badge--bad",
    "refused": "badge--bad",
}


@dataclass(frozen=True)
class Cell:
    """One value with its label. `kind` is "text", "money" or "instant"."""

    name: str
    label: str
    kind: str
    text: str
    value: Any


@dataclass(frozen=True)
class Entry:
    """One line of a timeline."""

    at: datetime
    words: str
    reason: str
    refused: bool


def label(model: type[QueueItem], name: str) -> str:
    """Return the field's word for people."""
    return capfirst(str(model._meta.get_field(name).verbose_name))  # type: ignore[union-attr]  # only plain fields


def kind(model: type[QueueItem], name: str) -> str:
    """Say how the field is written: an amount beside a currency is money."""
    field = model._meta.get_field(name)
    if isinstance(field, models.DecimalField) and _has_currency(model):
        return "money"
    return "instant" if isinstance(field, models.DateTimeField) else "text"


def cell(item: QueueItem, name: str) -> Cell:
    """Write one field of the item."""
    value = getattr(item, name)
    written = kind(type(item), name)
    return Cell(name, label(type(item), name), written, _text(item, name, value, written), value)


def facts(item: QueueItem) -> list[Cell]:
    """Write every field that people decide by; the currency stands with its amount."""
    return [cell(item, name) for name in fact_names(type(item))]


def fact_names(model: type[QueueItem]) -> list[str]:
    """Name the fields that people decide by; a currency beside its amount is none of its own."""
    inherited = {field.name for field in QueueItem._meta.get_fields()} | {"id", "tenant", "state"}
    names = [
        field.name
        for field in model._meta.concrete_fields
        if field.name in OWN_FACTS or (field.editable and field.name not in inherited)
    ]
    if any(kind(model, name) == "money" for name in names):
        names.remove("currency")
    return names


def headline(item: QueueItem) -> str:
    """Write the item's amount, where it has one."""
    names = [f.name for f in type(item)._meta.concrete_fields if kind(type(item), f.name) == "money"]
    return cell(item, names[0]).text if names else ""


def score_class(score: int | None, most: int) -> str:
    """Return the class of a score's badge: the upper third of what the rule can give, the middle, the rest."""
    if score is None or most <= 0 or score * 3 < most:
        return ""
    return " score--high" if score * 3 >= most * 2 else " score--mid"


def state(item: QueueItem) -> tuple[str, str]:
    """Return the word for the item's state and the class of its badge."""
    return _text(item, "state", item.state, "text"), STATE_CLASSES.get(item.state, "")


def timeline(queue: Queue, events: Iterable[AuditEvent]) -> list[Entry]:
    """Put audit events into words, with people's names where the events name a person."""
    listed = list(events)
    ids = {event.actor_user_id for event in listed if event.actor_user_id}
    ids |= {number for event in listed for number in _moved(event) if number}
    names = {person.pk: str(person) for person in User.objects.filter(pk__in=ids)}
    titles = {action.command.name: str(action.title) for action in queue.actions}
    return [_entry(event, names, titles) for event in listed]


def _entry(event: AuditEvent, names: dict[int, str], titles: dict[str, str]) -> Entry:
    who = names.get(event.actor_user_id or 0) or event.actor.removeprefix("system:")
    refused = event.outcome == AuditEvent.Outcome.REFUSED
    arguments = event.data.get("arguments") if isinstance(event.data.get("arguments"), dict) else {}
    words = _words(event.act, who, titles)
    giver, taker = _moved(event)
    if taker and not refused:
        to = names.get(taker, "?")
        words = _("%(words)s, to %(to)s") % {"words": words, "to": to}
        if giver and giver != event.actor_user_id:
            words = _("%(words)s, from %(name)s") % {"words": words, "name": names.get(giver, "?")}
    elif giver and not refused:
        words = _("%(words)s, from %(name)s") % {"words": words, "name": names.get(giver, "?")}
    if refused:
        words = _("%(words)s (refused)") % {"words": words}
    said = next((str(arguments[name]) for name in ("reason", "note", "text") if arguments and arguments.get(name)), "")
    return Entry(event.at, words, said, refused)


def _moved(event: AuditEvent) -> tuple[int | None, int | None]:
    """Return who had the item and who got it, where the event is a hand of it."""
    result = event.data.get("result")
    if not event.act.startswith("item.") or not isinstance(result, dict):
        return None, None
    return result.get("from"), result.get("to")


def _words(act: str, who: str, titles: dict[str, str]) -> str:
    if act in titles:
        return _("%(who)s: %(title)s") % {"who": who, "title": titles[act]}
    verb = act.rsplit(".", 1)[-1]
    known = {
        "claim": _("%(who)s claimed it"),
        "override": _("%(who)s set another score"),
        "remove-override": _("%(who)s let the rule's score count again"),
        "override-end": _("The score that was set by hand ended"),
        "challenge": _("%(who)s challenged an input of the score"),
        "claim-next": _("%(who)s claimed it as the next"),
        "release": _("%(who)s released it"),
        "renew": _("%(who)s renewed the hold"),
        "expire": _("The hold ended by itself"),
        "skip": _("%(who)s skipped it"),
        "snooze": _("%(who)s snoozed it"),
        "wake": _("The snooze ended by itself"),
        "wake-now": _("%(who)s woke it"),
        "hand-over": _("%(who)s handed it over"),
        "move": _("%(who)s moved it"),
        "assign": _("%(who)s assigned it"),
        "share": _("%(who)s shared it out"),
        "free": _("%(who)s took it off its holder"),
        "undo": _("%(who)s took the decision back"),
        "reopen": _("%(who)s reopened it"),
        "note": _("%(who)s noted"),
        "load": _("Loaded by %(who)s"),
        "ingest": _("Loaded by %(who)s"),
        "plan": _("%(who)s put it into a release"),
        "confirm": _("%(who)s confirmed its release"),
    }
    return known.get(verb, _("%(who)s: %(act)s").replace("%(act)s", act.replace("%", "%%"))) % {"who": who}


def _text(item: QueueItem, name: str, value: Any, written: str) -> str:
    if value is None:
        return ""
    if written == "money":
        return money.show(value, item.currency)  # type: ignore[attr-defined]  # kind() saw the currency
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    display = getattr(item, f"get_{name}_display", None)
    return str(display() if display else value)


def _has_currency(model: type[QueueItem]) -> bool:
    return any(field.name == "currency" for field in model._meta.concrete_fields)
