"""Set another score than the rule's, for a reason and for a while; it ends by itself.

The list is ordered by what is stored, so an override is stored as the item's score, with what the rule
gave kept beside it in the inputs. When it ends, the sweep of each minute puts the rule's score back; until
then the item keeps its place, and every page says that the override has ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.db import connection
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext as _
from psycopg import sql as names

from backoffice import commands, sql
from backoffice.audit import recording
from backoffice.commands import Actor, Outcome, command
from backoffice.errors import NotPermitted, Refusal
from backoffice.schedules import Item
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant
from queues import claiming, scoring, wording
from queues.base import Queue, ScoreRule, queues
from queues.models import QueueItem
from queues.models.item import open_items

HOURS = (4, 24, 72, 168)
MAX_REASON = 500
MOST = 500  # overrides that one command ends
CLEARED: dict[str, Any] = {
    "override_score": None,
    "override_until": None,
    "override_by": None,
    "override_reason": "",
    "score_seen": None,  # so that the next scoring writes the rule's score again
}
_SQL = Path(__file__).parent / "sql"


@dataclass(frozen=True)
class Override:
    """A score that somebody set, as a page shows it. `ended`: it only waits to be put back."""

    score: int
    until: datetime
    by: str
    reason: str
    ended: bool


def of(item: QueueItem, *, now: datetime) -> Override | None:
    """Return the item's override, whether it still holds or has just ended."""
    if item.override_score is None or item.override_until is None:
        return None
    ended = item.override_until <= now
    return Override(item.override_score, item.override_until, str(item.override_by), item.override_reason, ended)


@command("score.override", permission="queues.override_score", target=claiming.target)
def override_score(*, actor: Actor, queue: str, item_id: int, score: int, hours: int, reason: str) -> Outcome:
    """Let an open item stand at another score for some hours."""
    listed, rule = _may_override(actor, queue)
    if not 0 <= score <= rule.most:
        raise Refusal("score-out-of-range", _("A score of this rule is from 0 to %(most)d.") % {"most": rule.most})
    if hours not in HOURS:
        raise Refusal("no-such-time", _("Choose one of the times that are offered."))
    kept = reason.strip()
    if not kept or len(kept) > MAX_REASON:
        raise Refusal("reason-missing", _("Give a reason of 1 to %(max)d characters.") % {"max": MAX_REASON})
    now = claiming.database_now()
    # Scored first, so that what the rule gives now stands beside the override from its first moment on.
    scoring.score_range(listed, first=item_id, last=item_id, now=now)
    item = listed.model.objects.filter(open_items(listed.model), pk=item_id).select_for_update(no_key=True).first()
    if item is None:
        raise Refusal("gone", _("This item is decided, or not here any more."))
    until = now + timedelta(hours=hours)
    by_rule = sum(one["points"] for one in item.score_inputs)
    listed.model.objects.filter(pk=item_id).update(
        score=score, override_score=score, override_until=until, override_by=actor.user, override_reason=kept
    )
    return Outcome(target=item.target, data={"score": score, "computed": by_rule, "until": wording.instant(until)})


@command("score.remove-override", permission="queues.override_score", target=claiming.target)
def remove_override(*, actor: Actor, queue: str, item_id: int) -> Outcome:
    """Let the rule's score stand again."""
    listed, _rule = _may_override(actor, queue)
    removed = listed.model.objects.filter(pk=item_id, override_until__isnull=False).update(**CLEARED)
    if removed != 1:
        raise Refusal("no-override", _("Nobody has set another score here any more."))
    scoring.score_range(listed, first=item_id, last=item_id, now=claiming.database_now(), decided=True)
    score = listed.model.objects.values_list("score", flat=True).get(pk=item_id)
    return Outcome(target=claiming.target(queue=queue, item_id=item_id), data={"score": score})


@command("score.end-overrides", systems=("schedules", "shell"))
def end_overrides(*, actor: Actor, queue: str) -> Outcome:
    """Put the rule's score back wherever an override has ended, and note it in each item's history."""
    listed = queues.get(queue)
    text = names.SQL(sql.read(_SQL / "end_overrides.sql")).format(items=names.Identifier(listed.model._meta.db_table))
    with connection.cursor() as cursor:
        cursor.execute(text, {"tenant": scope.current().pk, "limit": MOST})
        ended = cursor.fetchall()
    for item_id, score in ended:
        recording.record(
            actor=actor.name,
            actor_user_id=None,
            acting_for=actor.acting_for,
            act="score.override-end",
            target=claiming.target(queue=queue, item_id=item_id),
            data={"score": score},
        )
    return Outcome(target=f"queue:{queue}", data={"ended": len(ended)})


def queues_with_ended(*, now: datetime, after: str, limit: int) -> Sequence[Item]:
    """Select each queue and tenant that has an override to end."""
    found: list[tuple[str, str, int]] = []
    with scope.unscoped(reason="overrides end in every tenant, an item a tenant and queue"):
        for listed in queues:
            rows = listed.model.objects.filter(Q(override_until__isnull=False, override_until__lte=Now()))
            for tenant_id in rows.order_by().values_list("tenant_id", flat=True).distinct():
                found.append((f"{listed.name}:{tenant_id:019d}", listed.name, tenant_id))
    found = sorted(one for one in found if one[0] > after)[:limit]
    tenants = Tenant.objects.in_bulk([tenant_id for _key, _name, tenant_id in found])
    return [Item(key=key, arguments={"queue": name}, tenant=tenants[tenant_id]) for key, name, tenant_id in found]


def set_score(*, actor: Actor, queue: str, item_id: int, score: int, hours: int, reason: str, key: str) -> Outcome:
    """Dispatch an override."""
    return commands.dispatch(
        override_score, actor=actor, key=key, queue=queue, item_id=item_id, score=score, hours=hours, reason=reason
    )


def remove(*, actor: Actor, queue: str, item_id: int, key: str) -> Outcome:
    """Dispatch the end of an override."""
    return commands.dispatch(remove_override, actor=actor, key=key, queue=queue, item_id=item_id)


def _may_override(actor: Actor, name: str) -> tuple[Queue, ScoreRule]:
    listed = queues.get(name)
    if actor.user is None or not actor.user.has_perm(listed.work):
        raise NotPermitted("not-permitted", _("You may not work in this queue."))
    if listed.rule is None:
        raise Refusal("not-scored", _("No score orders this queue: the oldest comes first."))
    return listed, listed.rule
