"""A queue and its rule say what is wrong with them; inputs say what they mean."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.db.models import Q
from django.utils import translation

from queues import (
    Advisory,
    Age,
    Bounded,
    Claim,
    Field,
    Flag,
    Lookup,
    Money,
    Queue,
    Ramp,
    ScoreRule,
    Step,
    base,
    queues,
    scoring,
)
from queues import rules as known_rules
from queues.models import Dispute, Payout


def problems(definition: Any) -> dict[str, str]:
    return {message.id: message.msg for message in definition.check()}


def rule(**changes: Any) -> ScoreRule:
    whole: dict[str, Any] = {
        "name": "test.some-score",
        "title": "some",
        "version": 1,
        "citation": "Handbook, 1",
        "owner": "supervisor",
        "inputs": (Ramp("age", Age("opened_at"), full_at=10, points=40),),
    }
    return type("Some", (ScoreRule,), {**whole, **changes})()


class Older(ScoreRule):
    name, version = "test.some-score", 1


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({}, {}),
        ({"name": "urgency"}, {"queues.E010": "The rule's name 'urgency' does not read like 'dispute.urgency-score'."}),
        ({"version": 0}, {"queues.E011": "The rule's version is not a whole number above 0."}),
        ({"owner": "analyst"}, {"queues.E015": "The rule's owner 'analyst' is no role that answers challenges."}),
        ({"candidate": Older}, {"queues.E016": "The rule's candidate needs the same name and a higher version."}),
        ({"citation": ""}, {"queues.E012": "The rule has no citation or no title."}),
        ({"inputs": ()}, {"queues.E013": "The rule needs inputs, each with a name of its own."}),
        (
            {"inputs": (Ramp("a", Money("amount"), full_at=9, points=1),)},
            {"queues.E014": "Input 'a': full_at is a number per currency exactly where the source is Money."},
        ),
        (
            {"inputs": (Step("a", Money("amount"), steps=((1, 2),)),)},
            {"queues.E014": "Input 'a': a step cannot read Money: its thresholds would mix currencies."},
        ),
        (
            {"inputs": (Flag("a", Q(pk=1), points=-1, text="x"),)},
            {"queues.E014": "Input 'a': points must be whole and not negative."},
        ),
        ({"inputs": (Lookup("a", Field("reason"), table={}),)}, {"queues.E014": "Input 'a': the table is empty."}),
    ],
)
def test_a_rule_says_what_is_wrong_with_it(changes: dict[str, Any], found: dict[str, str]) -> None:
    assert problems(rule(**changes)) == found


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({}, {}),
        (
            {"model": Payout, "score": None},
            {"queues.E002": "Another queue lists Payout too; its claims would have two modes."},
        ),
        ({"claim": None}, {"queues.E003": "The queue states no claim mode: Claim.required, optional or disabled."}),
        (
            {"claim": Claim.required(lease=timedelta(hours=9), max_held=5)},
            {"queues.E004": "The claim needs a lease, a cap of 1 or more, and max_hold not below lease."},
        ),
        ({"score": "no.such-score"}, {"queues.E005": "The queue's score rule 'no.such-score' is not registered."}),
        ({"freshness": None}, {"queues.E006": "The queue states no freshness: Bounded(within=...) or Advisory(note)."}),
        ({"columns": ("colour",)}, {"queues.E007": "The model has no field 'colour'."}),
        ({"actions": ()}, {"queues.E008": "The queue needs actions, each with a name of its own."}),
    ],
)
def test_a_queue_says_what_is_wrong_with_it(
    changes: dict[str, Any], found: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(base.queues._by_name, "disputes")
    whole = {
        "name": "some",
        "model": Dispute,
        "score": "dispute.urgency-score",
        "claim": Claim.disabled(),
        "freshness": Bounded(within=timedelta(minutes=15)),
        "columns": ("reference",),
        "actions": queues.get("payouts").actions,
    }
    assert problems(type("Some", (Queue,), {**whole, **changes})()) == found


def test_the_definitions_that_are_here_have_no_problem() -> None:
    assert {one.name: problems(one) for one in (*queues, *known_rules) if problems(one)} == {}
    assert isinstance(queues.get("payouts").freshness, Advisory)


def stored(*inputs: tuple[str, str, str, int], score: int = 82) -> Any:
    return SimpleNamespace(
        score=score,
        score_inputs=[dict(zip(("name", "value", "unit", "points"), one, strict=True)) for one in inputs],
        score_before=None,
        override_score=None,
        score_rule="dispute.urgency-score",
        score_version=1,
        scored_at=None,
    )


def test_the_sentence_names_every_input_that_counts() -> None:
    item = stored(("amount", "1900.0000", "EUR", 38), ("age", "6", "", 24), ("evidence", "true", "", 20))
    told = scoring.explain(item)
    assert told.sentence == "urgency 82: EUR 1,900.00 (+38), 6 days old (+24), evidence missing (+20)"
    assert [(row.words, row.points, row.most) for row in told.rows] == [
        ("EUR 1,900.00", 38, 40),
        ("6 days old", 24, 40),
        ("evidence missing", 20, 20),
    ]
    assert told.citation == "Operations Handbook, 4.2: the order of disputes"


def test_a_currency_without_a_rate_is_said_and_an_unset_flag_is_not() -> None:
    item = stored(("amount", "5.0000", "CHF", 0), ("age", "1", "", 4), ("evidence", "false", "", 0), score=4)
    item.score_inputs[0]["basis"] = None
    assert scoring.explain(item).sentence == "urgency 4: CHF 5.00, no rate for CHF (+0), 1 day old (+4)"
    assert scoring.explain(item).rows[2].words == "not: evidence missing"


def test_an_input_that_the_rule_dropped_is_still_shown() -> None:
    assert scoring.explain(stored(("weight", "3", "kg", 9), score=9)).sentence == "urgency 9: weight 3 kg (+9)"


def test_the_amount_is_written_in_the_active_language() -> None:
    item = stored(("amount", "1900.5000", "EUR", 38), ("age", "6", "", 24), score=62)
    with translation.override("de"):
        assert "EUR 1.900,50" in scoring.explain(item).sentence
