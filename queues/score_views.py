"""The POSTs on an item's score, and the page of a rule."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from backoffice import clock
from backoffice.commands import Outcome
from backoffice.pages import Page
from queues import challenging, overriding, rule_page
from queues.base import Queue, ScoreRule, queues, rules
from queues.item_views import ItemAct
from queues.models import QueueItem


class OverrideScore(ItemAct):
    """Set another score for a while."""

    act = "override"

    def run(self, on: dict[str, Any]) -> Outcome:
        score, hours = self.number("score"), self.number("hours")
        return overriding.set_score(
            score=-1 if score is None else score, hours=hours or 0, reason=self.text("reason"), **on
        )

    def done(self, item: QueueItem, outcome: Outcome) -> HttpResponse:
        words = {"reference": item.reference, "score": outcome.data["score"]}
        messages.success(self.request, _("%(reference)s stands at %(score)d for a while.") % words)
        return self.to_item(item.pk)


class RemoveOverride(ItemAct):
    """Let the rule's score count again."""

    act = "override-remove"

    def run(self, on: dict[str, Any]) -> Outcome:
        return overriding.remove(**on)

    def done(self, item: QueueItem, outcome: Outcome) -> HttpResponse:
        messages.info(
            self.request, _("The rule's score counts again for %(reference)s.") % {"reference": item.reference}
        )
        return self.to_item(item.pk)


class ChallengeInput(ItemAct):
    """Say that an input of the score is wrong."""

    act = "challenge"

    def run(self, on: dict[str, Any]) -> Outcome:
        return challenging.challenge(name=self.text("name"), why=self.text("reason"), **on)

    def done(self, item: QueueItem, outcome: Outcome) -> HttpResponse:
        messages.success(self.request, _("Your challenge is with the rule's owner."))
        return self.to_item(item.pk)


class RulePage(Page):
    """Show a rule: what it reads, how its scores lie today, and what its next version would change."""

    template_name = "queues/rule.html"
    rule: ScoreRule
    queue: Queue

    def setup(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        super().setup(request, *args, **kwargs)
        listed = [queue for queue in queues if queue.score == kwargs["rule"] and kwargs["rule"] in rules]
        if not listed:
            raise Http404
        self.rule, self.queue = rules.get(kwargs["rule"]), listed[0]

    def required_permission(self) -> str:
        return self.queue.view

    def get(self, request: HttpRequest, rule: str) -> HttpResponse:
        tries = "dry-run" in request.GET and self.rule.candidate is not None
        return self.page(
            rule_page.context(queue=self.queue, rule=self.rule, person=self.person, now=clock.now(), tries=tries)
        )
