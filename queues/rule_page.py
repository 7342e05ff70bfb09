"""What the page of a rule shows: its inputs, today's scores as a histogram with its table, the dry run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Q
from django.urls import reverse

from backoffice.tenants.models import User
from queues import dry_running, scoring
from queues.base import Queue, ScoreRule, queues
from queues.models import ScoreChallenge
from queues.models.item import open_items

BARS = 20
WIDTH, HEIGHT, FOOT = 600, 150, 18


@dataclass(frozen=True)
class Bar:
    """One bar: the scores from `first` to `last`, how many items have them, and where it is drawn."""

    first: int
    last: int
    count: int
    x: int
    y: int
    width: int
    height: int

    @property
    def middle(self) -> int:
        return self.x + self.width // 2


def context(*, queue: Queue, rule: ScoreRule, person: User, now: datetime, tries: bool) -> dict[str, Any]:
    """Return everything the rule's template shows; only with `tries` is the next version computed."""
    rows = queue.model.objects.filter(open_items(queue.model)).order_by()
    by_score = dict(rows.filter(score__isnull=False).values_list("score").annotate(number=Count("pk")))
    sees = person.has_perm(queues.get("score-challenges").view)
    challenges = ScoreChallenge.objects.filter(state=ScoreChallenge.State.OPEN, rule=rule.name)
    found = bars(by_score, most=rule.most)
    return {
        "title": rule.name,
        "rule": rule,
        "queue": queue,
        "inputs": _inputs(rule),
        "bars": found,
        "drawn": {"width": WIDTH, "height": HEIGHT + FOOT, "base": HEIGHT, "foot": HEIGHT + FOOT - 4},
        "most_in_a_bar": max((bar.count for bar in found), default=0),
        "scored": sum(by_score.values()),
        "unscored": rows.filter(score__isnull=True).count(),
        "due": rows.filter(score__isnull=False)
        .filter(~Q(score_version=rule.version) | ~Q(score_rule=rule.name))
        .count(),
        "by_hand": rows.filter(override_until__gt=now).count(),
        "open_challenges": challenges.count() if sees else None,
        "challenges_url": reverse("queue", args=["score-challenges"]) + f"?rule={rule.name}" if sees else "",
        "candidate": rule.candidate() if rule.candidate else None,
        "candidate_inputs": _inputs(rule.candidate()) if rule.candidate else [],
        "dry_run": dry_running.dry_run(queue=queue, now=now) if tries else None,
    }


def bars(by_score: Mapping[int, int], *, most: int) -> list[Bar]:
    """Cut the scores into bars of equal width, the last with the highest score too; what lies outside is in it."""
    wide = max(1, -(-most // BARS))
    number = max(1, -(-most // wide))
    counts = [0] * number
    for score, count in by_score.items():
        counts[min(max(score, 0) // wide, number - 1)] += count
    tallest = max(counts) or 1
    step = WIDTH // number
    return [
        Bar(
            first=place * wide,
            last=most if place == number - 1 else place * wide + wide - 1,
            count=count,
            x=place * step,
            y=HEIGHT - _high(count, tallest),
            width=step - 2,
            height=_high(count, tallest),
        )
        for place, count in enumerate(counts)
    ]


def _high(count: int, tallest: int) -> int:
    """Draw whatever is there at least 2 high, so that a few among many are seen."""
    return max(2, count * HEIGHT // tallest) if count else 0


def _inputs(rule: ScoreRule) -> list[dict[str, Any]]:
    return [{"title": scoring.title(one.name), "words": one.rule_words(), "most": one.most} for one in rule.inputs]
