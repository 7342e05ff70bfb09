"""A score that a person sets: for a reason, for a while, beside what the rule gives; it ends by itself."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db.models import F

from backoffice import clock, commands
from backoffice.audit.models import AuditEvent
from backoffice.commands import Actor
from backoffice.errors import NotPermitted, Refusal
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant, User
from queues import listing, overriding, queues, scoring
from queues.models import Payout
from tests.making_items import make_payouts, make_review, score

SYSTEM = Actor.system("schedules", acting_for="a test")


@pytest.fixture
def boss(make_person: Callable[..., User]) -> User:
    return make_person(roles=("supervisor",), name="Chi Obi")


def put(person: User, item: Payout, points: int = 100, hours: int = 24, reason: str = "The bank called") -> None:
    overriding.set_score(
        actor=Actor.person(person),
        queue="payouts",
        item_id=item.pk,
        score=points,
        hours=hours,
        reason=reason,
        key=uuid4().hex,
    )
    item.refresh_from_db()


def order() -> list[str]:
    return [item.reference for item in listing.page(queue=queues.get("payouts"), filters={}).items]


def test_an_overridden_item_takes_its_new_place_and_keeps_its_computed_score(tenant: Tenant, boss: User) -> None:
    first, second, *_rest = make_payouts(tenant=tenant)
    assert order()[0] == second.reference
    first.refresh_from_db()
    by_rule = first.score
    put(boss, first)
    assert order()[0] == first.reference
    assert (first.score, scoring.computed(first), first.override_reason) == (100, by_rule, "The bank called")
    assert scoring.explain(first).sentence.startswith(f"risk {by_rule}: ")
    event = AuditEvent.objects.get(act="score.override")
    assert (event.target, event.actor_user_id) == (first.target, boss.pk)
    assert event.data["result"]["computed"] == by_rule


def test_a_rescore_leaves_an_override_in_its_place_and_writes_it_once(tenant: Tenant, boss: User) -> None:
    item = make_payouts(tenant=tenant, count=1)[0]
    put(boss, item)
    Payout.objects.filter(pk=item.pk).update(opened_at=F("opened_at") - timedelta(days=4))
    now = clock.now()
    assert scoring.score_range(queues.get("payouts"), first=item.pk, last=item.pk, now=now) == 1
    assert scoring.score_range(queues.get("payouts"), first=item.pk, last=item.pk, now=now) == 0
    before = scoring.computed(item)
    item.refresh_from_db()
    assert item.score == 100
    assert scoring.computed(item) == (before or 0) + 4


def test_an_override_ends_by_itself_and_the_page_says_so_before_the_sweep(tenant: Tenant, boss: User) -> None:
    item, other = make_payouts(tenant=tenant, count=2)
    put(boss, item)
    by_rule = scoring.computed(item)
    Payout.objects.filter(pk=item.pk).update(override_until=clock.now() - timedelta(seconds=1))
    item.refresh_from_db()
    told = overriding.of(item, now=clock.now())
    assert told is not None
    assert told.ended
    found = overriding.queues_with_ended(now=clock.now(), after="", limit=10)
    assert [one.arguments for one in found] == [{"queue": "payouts"}]
    outcome = commands.dispatch(overriding.end_overrides, actor=SYSTEM, key="e", queue="payouts")
    assert outcome.data == {"ended": 1}
    item.refresh_from_db()
    assert (item.score, item.override_score, item.override_by, item.override_reason) == (by_rule, None, None, "")
    assert AuditEvent.objects.filter(act="score.override-end", target=item.target).count() == 1
    assert order()[0] == other.reference
    assert not overriding.queues_with_ended(now=clock.now(), after="", limit=10)


def test_a_rescore_puts_an_ended_override_back_too(tenant: Tenant, boss: User) -> None:
    item = make_payouts(tenant=tenant, count=1)[0]
    put(boss, item)
    by_rule = scoring.computed(item)
    Payout.objects.filter(pk=item.pk).update(override_until=clock.now() - timedelta(seconds=1))
    score("payouts")
    item.refresh_from_db()
    assert item.score == by_rule


def test_removing_an_override_restores_the_rules_score(tenant: Tenant, boss: User) -> None:
    item = make_payouts(tenant=tenant, count=1)[0]
    item.refresh_from_db()
    by_rule = item.score
    put(boss, item, points=0)
    overriding.remove(actor=Actor.person(boss), queue="payouts", item_id=item.pk, key="r")
    item.refresh_from_db()
    assert (item.score, item.override_until) == (by_rule, None)
    with pytest.raises(Refusal, match="Nobody has set"):
        overriding.remove(actor=Actor.person(boss), queue="payouts", item_id=item.pk, key="again")


@pytest.mark.parametrize(
    ("points", "hours", "reason", "code"),
    [
        (-1, 24, "x", "score-out-of-range"),
        (101, 24, "x", "score-out-of-range"),
        (2**40, 24, "x", "score-out-of-range"),
        (50, 0, "x", "no-such-time"),
        (50, 9_999, "x", "no-such-time"),
        (50, 24, "  ", "reason-missing"),
        (50, 24, "x" * 501, "reason-missing"),
        (50, 24, "a\x00b", "bad-text"),
    ],
)
def test_an_override_out_of_bounds_is_refused(
    points: int, hours: int, reason: str, code: str, tenant: Tenant, boss: User
) -> None:
    item = make_payouts(tenant=tenant, count=1)[0]
    with pytest.raises(Refusal) as refused:
        put(boss, item, points, hours, reason)
    assert refused.value.code == code


def test_only_a_supervisor_of_the_tenant_overrides_and_only_where_a_score_orders(
    tenant: Tenant, other_tenant: Tenant, boss: User, make_person: Callable[..., User]
) -> None:
    item = make_payouts(tenant=tenant, count=1)[0]
    with pytest.raises(NotPermitted):
        put(make_person(), item)
    review = make_review(tenant=tenant)
    with pytest.raises(Refusal, match="oldest comes first"):
        overriding.set_score(
            actor=Actor.person(boss), queue="reviews", item_id=review.pk, score=1, hours=4, reason="x", key="k"
        )
    stranger = make_person(tenant=other_tenant, roles=("supervisor",))
    with scope.open(other_tenant), pytest.raises(Refusal, match="not here any more"):
        overriding.set_score(
            actor=Actor.person(stranger), queue="payouts", item_id=item.pk, score=1, hours=4, reason="x", key="k"
        )
    item.refresh_from_db()
    assert item.override_score is None
