"""Write a note on an item. The history is where notes live: they are said once and never changed."""

from __future__ import annotations

from django.utils.translation import gettext as _

from backoffice import commands
from backoffice.commands import Actor, Outcome, command
from backoffice.errors import Refusal
from queues import claiming, setting_aside

MAX_TEXT = 2_000


def note(*, actor: Actor, queue: str, item_id: int, text: str, key: str) -> Outcome:
    """Write a note on the item, whoever holds it."""
    return commands.dispatch(note_item, actor=actor, key=key, queue=queue, item_id=item_id, text=text)


@command("item.note", permission="queues.claim", target=claiming.target)
def note_item(*, actor: Actor, queue: str, item_id: int, text: str) -> Outcome:
    """Keep the note in the item's history."""
    listed, _person = setting_aside.worker(actor, queue)
    kept = text.strip()
    if not kept:
        raise Refusal("note-missing", _("Write the note first."))
    if len(kept) > MAX_TEXT:
        raise Refusal("note-too-long", _("A note has at most %(max)d characters.") % {"max": MAX_TEXT})
    if not listed.model.objects.filter(pk=item_id).exists():
        raise Refusal("gone", _("This item is not here any more."))
    return Outcome(target=claiming.target(queue=queue, item_id=item_id))
