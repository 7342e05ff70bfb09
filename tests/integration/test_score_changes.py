"""What changes a score: a rule's new version, an input that changes; and the challenge of an input."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection

from backoffice import commands
from backoffice.audit.models import AuditEvent
from backoffice.commands import Actor
from backoffice.errors import NotPermitted, Refusal
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant, User
from queues import acting, challenging, evidence, queues, rules, scoring
from queues.models import Dispute, ScoreChallenge
from tests.making_items import make_dispute, make_rates, score

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


def disputed(tenant: Tenant, **wanted: Any) -> Dispute:
    make_rates(tenant=tenant)
    item = make_dispute(tenant=tenant, **wanted)
    score("disputes")
    item.refresh_from_db()
    return item


def test_evidence_that_arrives_is_in_the_score_in_the_same_transaction(
    tenant: Tenant, make_person: Callable[..., User]
) -> None:
    item = disputed(tenant)
    assert item.score_inputs[2]["points"] == 20
    actor = Actor.person(make_person())
    outcome = commands.dispatch(evidence.evidence_received, actor=actor, key="e", item_id=item.pk, version=item.version)
    before = item.score
    item.refresh_from_db()
    assert (item.score, outcome.data) == ((before or 0) - 20, {"score": item.score})
    assert item.evidence_received_at is not None
    assert scoring.explain(item).changes == ("Evidence +20 → +0",)
    with pytest.raises(Refusal):
        commands.dispatch(evidence.evidence_received, actor=actor, key="f", item_id=item.pk, version=item.version)


def test_a_new_version_makes_every_score_due_and_says_what_it_changed(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = disputed(tenant, opened_at=NOW - timedelta(days=10))
    queue, rule = queues.get("disputes"), rules.get("dispute.urgency-score")
    assert rule.candidate is not None
    scoring.score_range(queue, first=item.pk, last=item.pk, now=NOW)
    monkeypatch.setitem(rules._by_name, rule.name, rule.candidate())
    assert scoring.score_range(queue, first=item.pk, last=item.pk, now=NOW) == 1
    assert scoring.score_range(queue, first=item.pk, last=item.pk, now=NOW) == 0
    item.refresh_from_db()
    assert item.score_version == rule.candidate.version
    assert item.score_before["version"] == rule.version
    assert scoring.explain(item).changes == ("Age +40 → +24", "Evidence +20 → +10")


def test_what_a_rescore_changed_stays_until_the_next_change(tenant: Tenant) -> None:
    item = disputed(tenant, opened_at=NOW - timedelta(days=6))
    queue = queues.get("disputes")
    assert item.score_before is None
    for day in (0, 1):
        scoring.score_range(queue, first=item.pk, last=item.pk, now=NOW + timedelta(days=day))
    scoring.score_range(queue, first=item.pk, last=item.pk, now=NOW + timedelta(days=1, hours=1))
    item.refresh_from_db()
    told = scoring.explain(item)
    assert (told.changes, told.before_at) == (("Age +24 → +28",), NOW)


# ------------------------------------------------------------------ challenges


def challenged(person: User, item: Dispute, why: str = "It came by post", name: str = "evidence") -> ScoreChallenge:
    challenging.challenge(
        actor=Actor.person(person), queue="disputes", item_id=item.pk, name=name, why=why, key=uuid4().hex
    )
    return ScoreChallenge.objects.latest("pk")


def answer(person: User, one: ScoreChallenge, action: str = "accept", reason: str = "Noted since") -> None:
    acting.act(
        actor=Actor.person(person),
        action=queues.get("score-challenges").action(action),
        item_id=one.pk,
        token=None,
        version=one.version,
        reason=reason,
        key=uuid4().hex,
    )
    one.refresh_from_db()


def test_a_challenge_is_work_for_the_rules_owner_and_both_sides_know_each_other(
    tenant: Tenant, make_person: Callable[..., User]
) -> None:
    item, ann = disputed(tenant), make_person(name="Ann Archer")
    one = challenged(ann, item)
    assert (one.rule, one.rule_version, one.stated) == ("dispute.urgency-score", 3, "evidence missing (+20)")
    assert (one.queue, one.item_id, one.challenged_by, one.reference) == ("disputes", item.pk, ann, item.reference)
    assert challenging.of(queue="disputes", item_id=item.pk) == [one]
    assert AuditEvent.objects.get(act="score.challenge").target == item.target
    with pytest.raises(Refusal, match="challenged already"):
        challenged(ann, item)
    answer(make_person(roles=("supervisor",)), one, "reject", "We looked: nothing came")
    assert one.state == "rejected"
    challenged(ann, item)  # answered, so it can be challenged anew


def test_only_the_rules_owner_answers(
    tenant: Tenant, make_person: Callable[..., User], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = challenged(make_person(), disputed(tenant))
    with pytest.raises(NotPermitted):
        answer(make_person(), one)
    monkeypatch.setattr(type(rules.get("dispute.urgency-score")), "owner", "operator")
    with pytest.raises(NotPermitted, match="owner"):
        answer(make_person(roles=("supervisor",)), one)
    assert one.state == "open"


@pytest.mark.parametrize(
    ("name", "why", "code"),
    [
        ("evidence", " ", "reason-missing"),
        ("evidence", "x" * 1_001, "reason-missing"),
        ("evidence", "\x00", "bad-text"),
        ("weight", "x", "no-such-input"),
        ("", "x", "no-such-input"),
    ],
)
def test_a_challenge_of_nothing_or_without_a_reason_is_refused(
    name: str, why: str, code: str, tenant: Tenant, make_person: Callable[..., User]
) -> None:
    item = disputed(tenant)
    with pytest.raises(Refusal) as refused:
        challenged(make_person(), item, why, name)
    assert refused.value.code == code


def test_an_outsider_and_a_reader_challenge_nothing(
    tenant: Tenant, other_tenant: Tenant, make_person: Callable[..., User]
) -> None:
    item = disputed(tenant)
    for person in (make_person(roles=("auditor",)), make_person(tenant=other_tenant)):
        with pytest.raises(NotPermitted):
            challenged(person, item)
    assert not ScoreChallenge.objects.exists()


def test_of_two_challenges_at_once_one_is_opened(tenant: Tenant, make_person: Callable[..., User]) -> None:
    item = disputed(tenant)
    people = [make_person() for _number in range(4)]
    meet = threading.Barrier(len(people))

    def try_it(person: User) -> str:
        try:
            with scope.open(tenant):
                meet.wait(20)
                challenged(person, item)
            return "opened"
        except Refusal as refusal:
            return refusal.code
        finally:
            connection.close()

    with ThreadPoolExecutor(len(people)) as pool:
        answers = sorted(pool.map(try_it, people))
    assert answers == ["challenged"] * 3 + ["opened"]
