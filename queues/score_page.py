"""What the page of one item shows of its score: why it is so, what was set by hand, what is challenged."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.urls import reverse
from django.utils import formats
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from backoffice.pages import new_key
from backoffice.tenants.models import User
from queues import challenging, overriding, scoring, showing, wording
from queues.base import Queue, queues
from queues.models import QueueItem, ScoreChallenge

_TIMES = {
    4: gettext_lazy("4 hours"),
    24: gettext_lazy("1 day"),
    72: gettext_lazy("3 days"),
    168: gettext_lazy("1 week"),
}


def context(queue: Queue, item: QueueItem, person: User, now: datetime, works: bool) -> dict[str, Any]:
    """Return what the score's panel shows; for a challenge, the item that it is about."""
    rule = queue.rule
    if rule is None:
        return {"rule": None, "about": _about(item, person)}
    explained = scoring.explain(item, now=now)
    challenges = _challenges(queue, item, person)
    open_inputs = {one["challenge"].input for one in challenges if one["challenge"].is_open}
    challenges_it = works and item.is_open and person.has_perm("queues.challenge_score")
    return {
        "rule": rule,
        "rule_url": reverse("rule", args=[rule.name]),
        "outdated": item.score_version is not None and item.score_version != rule.version,
        "explained": explained,
        "inputs": [
            {
                "title": scoring.title(row.name),
                "row": row,
                "key": new_key() if challenges_it and row.name not in open_inputs else "",
            }
            for row in explained.rows
        ],
        "score_class": showing.score_class(explained.score, rule.most),
        "override": overriding.of(item, now=now),
        "override_class": showing.score_class(item.override_score, rule.most),
        "may_override": works and item.is_open and person.has_perm("queues.override_score"),
        "override_times": [(hours, str(_TIMES[hours])) for hours in overriding.HOURS],
        "override_key": new_key(),
        "remove_key": new_key(),
        "challenges": challenges,
    }


def by_hand(item: QueueItem, *, now: datetime) -> str:
    """Say on the item's row that somebody set its score, until when; nothing where nobody did."""
    if item.override_score is None or item.override_until is None:
        return ""
    if item.override_until <= now:
        return _("was set by hand; the rule's score returns within a minute")
    return _("set by hand until %(until)s") % {"until": wording.clock(item.override_until, now=now)}


def _challenges(queue: Queue, item: QueueItem, person: User) -> list[dict[str, Any]]:
    sees = person.has_perm(queues.get("score-challenges").view)
    return [
        {
            "challenge": one,
            "input": scoring.title(one.input),
            "state": showing.state(one),
            "url": reverse("item", args=["score-challenges", one.pk]) if sees else "",
        }
        for one in challenging.of(queue=queue.name, item_id=item.pk)
    ]


def _about(item: QueueItem, person: User) -> dict[str, Any] | None:
    if not isinstance(item, ScoreChallenge) or item.queue not in queues:
        return None
    listed = queues.get(item.queue)
    sees = person.has_perm(listed.view)
    return {
        "reference": item.reference,
        "queue": listed.title,
        "url": reverse("item", args=[item.queue, item.item_id]) if sees else "",
        "rule_url": reverse("rule", args=[item.rule]) if sees and listed.score == item.rule else "",
        "rule": item.rule,
        "at": formats.date_format(item.opened_at, "j M Y"),
    }
