"""The pages of a score: the item's panel, the row, the rule's page with its histogram and its dry run."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from backoffice import clock
from backoffice.commands import Actor
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant, User
from queues import dry_running, overriding, queues, rule_page
from queues.models import Dispute, Payout, ScoreChallenge
from tests.making_items import make_dispute, make_payouts, make_rates, make_review, score

RULE = "/t/acme/queues/rules/dispute.urgency-score/"


def post(client: Client, path: str, **fields: Any) -> Any:
    return client.post(path, {"key": uuid4().hex, **fields})


def page(response: Any, status: int = 200) -> str:
    assert response.status_code == status
    return response.content.decode()


@pytest.fixture
def boss(make_person: Callable[..., User], client_for: Callable[..., Client], tenant: Tenant) -> Client:
    return client_for(make_person(roles=("supervisor",), name="Chi Obi"), tenant)


@pytest.fixture
def staff(make_person: Callable[..., User], client_for: Callable[..., Client], tenant: Tenant) -> Client:
    return client_for(make_person(name="Ann Archer"), tenant)


@pytest.mark.proves("jobs#show-the-score-beside-each-item")
def test_the_item_shows_inputs_points_source_rule_and_what_changed(tenant: Tenant, staff: Client) -> None:
    item = make_payouts(tenant=tenant, count=1)[0]
    Payout.objects.filter(pk=item.pk).update(opened_at=clock.now() - timedelta(days=8), score_seen=None)
    score("payouts")
    shown = page(staff.get(f"/t/acme/queues/payouts/{item.pk}/"))
    assert "1 EUR = 0.87 GBP, Test rates of" in shown
    assert "Age +6 → +8" in shown
    assert "payout.release-risk-score version 2 · Payments Handbook, 3.1" in shown
    assert "/t/acme/queues/rules/payout.release-risk-score/" in shown


def test_a_supervisor_sets_a_score_that_is_shown_apart_and_takes_it_back(tenant: Tenant, boss: Client) -> None:
    item = make_payouts(tenant=tenant, count=1)[0]
    item.refresh_from_db()
    path = f"/t/acme/queues/payouts/{item.pk}/"
    assert post(boss, f"{path}override/", score=99, hours=24, reason="The bank called").status_code == 303
    shown = page(boss.get(path))
    assert "set by Chi Obi until" in shown
    assert "The bank called" in shown
    assert f"The rule gives {item.score}" in shown
    listed = page(boss.get("/t/acme/queues/payouts/"))
    assert ">99</span>" in listed
    assert "set by hand until" in listed
    assert f"risk {item.score}: GBP 1,900.00" in listed
    assert post(boss, f"{path}override/remove/").status_code == 303
    assert "set by hand" not in page(boss.get("/t/acme/queues/payouts/"))


def test_a_refused_override_keeps_what_was_typed(tenant: Tenant, boss: Client) -> None:
    item = make_payouts(tenant=tenant, count=1)[0]
    path = f"/t/acme/queues/payouts/{item.pk}/override/"
    shown = page(post(boss, path, score=500, hours=24, reason="Typed <b>words</b>"), 409)
    assert "Typed &lt;b&gt;words&lt;/b&gt;" in shown
    assert "from 0 to 100" in shown
    for bad in ("-5", "NaN", "1e9", "٣"):
        assert post(boss, path, score=bad, hours=24, reason="x").status_code == 400
    assert post(boss, path, score="9" * 18, hours=24, reason="x").status_code == 409


def test_an_override_that_has_ended_says_so_until_it_is_put_back(tenant: Tenant, boss: Client) -> None:
    item = make_payouts(tenant=tenant, count=1)[0]
    path = f"/t/acme/queues/payouts/{item.pk}/"
    post(boss, f"{path}override/", score=99, hours=4, reason="x")
    Payout.objects.filter(pk=item.pk).update(override_until=clock.now() - timedelta(seconds=1))
    assert "A score that was set by hand has ended" in page(boss.get(path))
    assert "the rule&#x27;s score returns within a minute" in page(boss.get("/t/acme/queues/payouts/"))


def test_staff_challenge_an_input_and_both_pages_link_to_each_other(
    tenant: Tenant, staff: Client, boss: Client
) -> None:
    item = make_payouts(tenant=tenant, count=1)[0]
    path = f"/t/acme/queues/payouts/{item.pk}/"
    assert "Set another score" not in page(staff.get(path))
    assert post(staff, f"{path}override/", score=9, hours=4, reason="x").status_code == 403
    assert post(staff, f"{path}challenge/", name="amount", reason="It is in cents").status_code == 303
    one = ScoreChallenge.objects.get()
    assert f"/t/acme/queues/score-challenges/{one.pk}/" in page(staff.get(path))
    assert "It is in cents" in page(staff.get(path))
    shown = page(boss.get(f"/t/acme/queues/score-challenges/{one.pk}/"))
    assert path in shown
    assert "GBP 1,900.00 (+" in shown
    assert "It is in cents" in page(boss.get("/t/acme/queues/score-challenges/"))
    assert "challenged already" in page(post(staff, f"{path}challenge/", name="amount", reason="Again"), 409)


def test_the_pages_of_another_tenants_scores_are_not_there(
    tenant: Tenant, other_tenant: Tenant, boss: Client, make_person: Callable[..., User]
) -> None:
    with scope.open(other_tenant):
        item = make_dispute(tenant=other_tenant)
    for act in ("override/", "override/remove/", "challenge/"):
        answer = post(boss, f"/t/acme/queues/disputes/{item.pk}/{act}", score=1, hours=4, reason="x", name="age")
        assert answer.status_code == 404
    assert boss.get("/t/globex/queues/rules/dispute.urgency-score/").status_code == 404
    assert boss.get("/t/acme/queues/rules/no.such-score/").status_code == 404


# ------------------------------------------------------------------ the rule's page


@pytest.mark.proves("jobs#order-queue-items-by-score")
def test_the_rules_page_shows_inputs_citation_owner_and_the_distribution(tenant: Tenant, staff: Client) -> None:
    make_rates(tenant=tenant)
    for days in (1, 2, 30):
        make_dispute(tenant=tenant, opened_at=clock.now() - timedelta(days=days, hours=1))
    score("disputes")
    make_dispute(tenant=tenant)
    shown = page(staff.get(RULE))
    assert "0 to 40 points, rising evenly up to EUR 2,000.00" in shown
    assert "0 to 40 points, rising evenly up to 10 days old" in shown
    assert "20 points for: evidence missing" in shown
    assert "Operations Handbook, 4.2" in shown
    assert "owned by: supervisor" in shown
    assert "<dt>Not scored yet</dt><dd>1</dd>" in shown
    assert shown.count("<rect x=") == rule_page.BARS
    assert "Try it on the open items" in shown


def test_a_reader_without_the_queue_does_not_see_its_rule(
    tenant: Tenant, make_person: Callable[..., User], client_for: Callable[..., Client]
) -> None:
    assert client_for(make_person(roles=("finance",)), tenant).get(RULE).status_code == 403


@given(by_score=st.dictionaries(st.integers(0, 130), st.integers(1, 2**40), max_size=40), most=st.integers(1, 10_000))
def test_the_bars_hold_every_item_and_cover_every_score_once(by_score: dict[int, int], most: int) -> None:
    found = rule_page.bars(by_score, most=most)
    assert sum(bar.count for bar in found) == sum(by_score.values())
    covered = [score for bar in found for score in range(bar.first, bar.last + 1)]
    assert covered == list(range(most + 1))
    assert all(0 <= bar.y <= rule_page.HEIGHT and bar.height <= rule_page.HEIGHT for bar in found)
    assert all((bar.height > 0) == (bar.count > 0) for bar in found)


def test_a_dry_run_says_who_would_move_and_writes_nothing(tenant: Tenant, staff: Client) -> None:
    make_rates(tenant=tenant)
    now = clock.now()
    # Now: 2 + 40 + 20 = 62 and 40 + 40 + 0 = 80; then: 2 + 50 + 10 = 62 and 40 + 24 + 0 = 64 ...
    old = make_dispute(tenant=tenant, reference="OLD", amount=Decimal(100), opened_at=now - timedelta(days=30))
    big = make_dispute(
        tenant=tenant,
        reference="BIG",
        amount=Decimal(1_800),
        opened_at=now - timedelta(days=10, hours=1),
        evidence_received_at=now,
    )
    score("disputes")
    before = list(Dispute.objects.order_by("pk").values())
    found = dry_running.dry_run(queue=queues.get("disputes"), now=now)
    assert found is not None
    assert (found.looked_at, found.bounded, found.moved, found.top_moved, found.top_mean) == (2, False, 2, 2, 1)
    assert [(m.reference, m.place, m.next_place, m.score, m.next_score) for m in found.moves] == [
        ("BIG", 1, 2, 76, 60),
        ("OLD", 2, 1, 62, 62),
    ]
    shown = page(staff.get(RULE + "?dry-run=1"))
    assert "2 would move, by 1 places on average" in shown
    assert f"/t/acme/queues/disputes/{big.pk}/" in shown
    assert list(Dispute.objects.order_by("pk").values()) == before
    assert old.pk


def test_a_dry_run_looks_at_no_more_than_its_bound_and_says_so(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dry_running, "BOUND", 2)
    for _number in range(4):
        make_dispute(tenant=tenant)
    found = dry_running.dry_run(queue=queues.get("disputes"), now=clock.now())
    assert found is not None
    assert found.bounded
    assert dry_running.dry_run(queue=queues.get("reviews"), now=clock.now()) is None
    make_review(tenant=tenant)


def test_an_overridden_item_is_counted_on_the_rules_page(
    tenant: Tenant, staff: Client, make_person: Callable[..., User]
) -> None:
    make_rates(tenant=tenant)
    item = make_dispute(tenant=tenant)
    score("disputes")
    boss = Actor.person(make_person(roles=("supervisor",)))
    overriding.set_score(actor=boss, queue="disputes", item_id=item.pk, score=1, hours=4, reason="x", key="k")
    assert "<dt>Set by hand</dt><dd>1</dd>" in page(staff.get(RULE))
