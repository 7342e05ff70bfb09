"""Challenge an input of a score: whoever owns the rule gets it as work, and the item shows it meanwhile."""

from __future__ import annotations

from django.db import connection
from django.utils.translation import gettext as _

from backoffice import commands
from backoffice.commands import Actor, Outcome, command
from backoffice.errors import NotPermitted, Refusal
from backoffice.tenants import scope
from backoffice.tenants.models import Membership
from queues import acting, claiming, due_times, scoring
from queues.base import queue_for, queues, rules
from queues.models import ScoreChallenge

MAX_WHY = 1_000
_TAKE_TURN = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"


def challenge(*, actor: Actor, queue: str, item_id: int, name: str, why: str, key: str) -> Outcome:
    """Dispatch a challenge of the input `name` of an item's score."""
    return commands.dispatch(challenge_input, actor=actor, key=key, queue=queue, item_id=item_id, name=name, reason=why)


@command("score.challenge", permission="queues.challenge_score", target=claiming.target)
def challenge_input(*, actor: Actor, queue: str, item_id: int, name: str, reason: str) -> Outcome:
    """Open work for the rule's owner: one input of this item's score is said to be wrong."""
    listed = queues.get(queue)
    if actor.user is None or not actor.user.has_perm(listed.work):
        raise NotPermitted("not-permitted", _("You may not work in this queue."))
    why = reason.strip()
    if not why or len(why) > MAX_WHY:
        raise Refusal("reason-missing", _("Say what is wrong, in 1 to %(max)d characters.") % {"max": MAX_WHY})
    item = listed.model.objects.filter(pk=item_id).first()
    if item is None:
        raise Refusal("gone", _("This item is not here any more."))
    row = next((row for row in scoring.explain(item).rows if row.name == name), None)
    if row is None or item.score_version is None or item.score_rule not in rules:
        raise Refusal("no-such-input", _("The score of this item has no such input any more. Reload the page."))
    with connection.cursor() as cursor:
        cursor.execute(_TAKE_TURN, [f"challenge:{scope.current().pk}:{item.target}:{name}"])
    same = {"queue": queue, "item_id": item_id, "input": name}
    if ScoreChallenge.objects.filter(state=ScoreChallenge.State.OPEN, **same).exists():
        raise Refusal("challenged", _("This input is challenged already, and the answer is still open."))
    made = ScoreChallenge.objects.create(
        tenant=scope.current(),
        reference=item.reference[:80],
        opened_at=claiming.database_now(),
        rule=item.score_rule,
        rule_version=item.score_version,
        stated=f"{row.words} (+{row.points})"[:300],
        why=why,
        challenged_by=actor.user,
        **same,
    )
    due_times.keep_one(queue_for(ScoreChallenge), made.pk)
    return Outcome(target=item.target, data={"challenge": made.pk, "input": name})


@command("challenge.accept", permission="queues.work_scorechallenge", target="scorechallenge:{item_id}")
def accept_challenge(
    *, actor: Actor, item_id: int, reason: str, token: int | None = None, version: int | None = None
) -> Outcome:
    """Agree that the input is wrong; the reason says what is done about it."""
    _owner_only(actor, item_id)
    return acting.decide(ScoreChallenge, ScoreChallenge.State.ACCEPTED, actor, item_id, token, version, reason=reason)


@command("challenge.reject", permission="queues.work_scorechallenge", target="scorechallenge:{item_id}")
def reject_challenge(
    *, actor: Actor, item_id: int, reason: str, token: int | None = None, version: int | None = None
) -> Outcome:
    """Say why the input is right."""
    _owner_only(actor, item_id)
    return acting.decide(ScoreChallenge, ScoreChallenge.State.REJECTED, actor, item_id, token, version, reason=reason)


def of(*, queue: str, item_id: int) -> list[ScoreChallenge]:
    """Return the challenges of an item's inputs, the newest first."""
    found = ScoreChallenge.objects.filter(queue=queue, item_id=item_id).prefetch_related("challenged_by")
    return list(found.order_by("-id")[:20])


def _owner_only(actor: Actor, challenge_id: int) -> None:
    """Let only the role that the rule names as its owner answer; a rule that is gone leaves it to any."""
    name = ScoreChallenge.objects.filter(pk=challenge_id).values_list("rule", flat=True).first()
    if name is None or name not in rules or actor.user is None:
        return
    owner = rules.get(name).owner
    if not Membership.objects.filter(user=actor.user, roles__contains=[owner]).exists():
        raise NotPermitted("not-permitted", _("Only the rule's owner (%(role)s) answers this.") % {"role": owner})
