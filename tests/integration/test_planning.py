"""A plan is a frozen preview: every line and total exact, every exclusion with its reason."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import DatabaseError, connection, transaction
from django.db.models import F
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext

from backoffice import commands
from backoffice.commands import Actor
from backoffice.errors import Refusal
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant, User
from queues.definitions.release_payouts import ReleasePayouts
from queues.models import Payout
from queues.money import Limit
from queues.money.models import Exclusion, Plan, PlanLine
from queues.money.planning import create_plan
from tests.making_money import make_payout, make_payouts, make_plan

PREVIEW = "jobs#show-a-preview-before-bulk-money-actions"


@pytest.fixture
def finance(make_person: Callable[..., User]) -> User:
    return make_person(roles=("finance",))


def _left_out(plan: Plan) -> dict[str, str]:
    return dict(Exclusion.objects.filter(plan=plan).values_list("reference", "code"))


@pytest.mark.case("BM-11")
@pytest.mark.proves(PREVIEW)
def test_a_plan_holds_every_selected_item_with_its_exact_amount(finance: User) -> None:
    payouts = [make_payout("0.01"), make_payout("100.00"), make_payout("250.50"), make_payout("9899", "JPY")]
    payouts.append(make_payout("1.234", "KWD"))
    plan = make_plan(finance, payouts)
    lines = list(plan.lines.order_by("position"))
    assert [(x.position, x.item_id, x.payee, x.account, x.amount, x.currency, x.money_version) for x in lines] == [
        (n, p.pk, p.beneficiary, p.account, p.amount, p.currency, p.money_version) for n, p in enumerate(payouts, 1)
    ]
    assert plan.totals == [
        {"currency": "EUR", "count": 3, "total": "350.51"},
        {"currency": "JPY", "count": 1, "total": "9899"},
        {"currency": "KWD", "count": 1, "total": "1.234"},
    ]
    assert (plan.state, plan.line_count, plan.exclusion_count, len(plan.digest)) == ("draft", 5, 0, 64)


@pytest.mark.case("BM-10")
def test_cents_stay_exact(finance: User) -> None:
    plan = make_plan(finance, [make_payout(a) for a in ("19.99", "1.15", "4.35", "1.005", "8.41")])
    assert plan.totals == [{"currency": "EUR", "count": 4, "total": "33.90"}]
    assert list(_left_out(plan).values()) == ["amount-too-precise"]


@pytest.mark.proves(PREVIEW)
def test_what_is_left_out_says_why(finance: User, make_person: Callable[..., User], other_tenant: Tenant) -> None:
    fine = make_payout()
    pending = make_payout(state=Payout.State.PENDING)
    credit = make_payout("-5.00", state=Payout.State.CREDIT)
    planned = make_payout(plan_id=7)
    unlimited = make_payout(currency="NOK")
    held = make_payout(
        state=Payout.State.PENDING,
        claim_holder=make_person(),
        claimed_at=Now(),
        lease_until=Now() + timedelta(hours=1),
    )
    with scope.open(other_tenant):
        foreign = make_payout()
    plan = make_plan(finance, [fine, pending, credit, planned, unlimited, held, foreign])
    assert [line.item_id for line in plan.lines.all()] == [fine.pk]
    assert _left_out(plan) == {
        pending.reference: "not-approved",
        credit.reference: "not-approved",
        planned.reference: "in-plan",
        unlimited.reference: "no-limit",
        held.reference: "held",
        f"#{foreign.pk}": "not-found",
    }
    assert plan.line_count + plan.exclusion_count == 7


def test_a_currency_limit_is_filled_in_order_and_not_passed(finance: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ReleasePayouts, "limits", {"EUR": Limit(total=250)})
    first, second, third, fourth = make_payouts(4)
    Payout.objects.filter(pk=fourth.pk).update(amount=Decimal("50.00"))
    plan = make_plan(finance, [fourth, third, second, first])
    assert [line.item_id for line in plan.lines.all()] == [first.pk, second.pk, fourth.pk]
    assert _left_out(plan) == {third.reference: "over-limit"}
    assert plan.totals[0]["total"] == "250.00"


def test_more_than_the_bound_is_refused_whole_and_names_it(finance: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ReleasePayouts, "max_items", 3)
    payouts = make_payouts(4)
    with pytest.raises(Refusal, match="too-many") as caught:
        make_plan(finance, payouts)
    assert "at most 3 items" in str(caught.value.message)
    with pytest.raises(Refusal, match="too-many"):
        commands.dispatch(
            create_plan,
            actor=Actor.person(finance),
            key="all",
            action="payout.release",
            filters={"state": "approved"},
        )
    assert not Plan.objects.exists()


def test_all_that_match_is_resolved_on_the_server(finance: User, other_tenant: Tenant) -> None:
    euros = make_payouts(3)
    make_payout(currency="GBP")
    with scope.open(other_tenant):
        make_payouts(2)
    outcome = commands.dispatch(
        create_plan,
        actor=Actor.person(finance),
        key="all",
        action="payout.release",
        filters={"state": "approved", "currency": "EUR"},
    )
    lines = PlanLine.objects.filter(plan_id=outcome.data["plan_id"])
    assert [line.item_id for line in lines] == [payout.pk for payout in euros]


def test_nothing_selected_is_refused(finance: User) -> None:
    with pytest.raises(Refusal, match="nothing-selected"):
        make_plan(finance, [])


def test_only_people_who_may_plan_can(make_person: Callable[..., User]) -> None:
    with pytest.raises(Refusal, match="not-permitted"):
        make_plan(make_person(roles=("staff",)), make_payouts(1))


def test_a_draft_holds_nothing(finance: User) -> None:
    payouts = make_payouts(2)
    one, other = make_plan(finance, payouts), make_plan(finance, payouts)
    assert one.digest == other.digest
    assert not Payout.objects.exclude(plan_id=None).exists()


def test_claiming_and_scoring_leave_the_digest_as_it_is(finance: User) -> None:
    payouts = make_payouts(2)
    before = make_plan(finance, payouts).digest
    Payout.objects.update(score=7, score_version=1, scored_at=Now(), version=F("version") + 1)
    assert make_plan(finance, payouts).digest == before
    Payout.objects.filter(pk=payouts[0].pk).update(account="DE00 OTHER")
    assert make_plan(finance, payouts).digest != before


def test_a_stored_plan_cannot_be_changed(finance: User) -> None:
    plan = make_plan(finance, make_payouts(2))
    changes = [
        lambda: PlanLine.objects.update(amount=1),
        lambda: PlanLine.objects.update(payee="me"),
        lambda: Plan.objects.update(digest="0" * 64),
        lambda: Plan.objects.update(totals=[]),
        lambda: Plan.objects.update(state="confirmed"),
        lambda: Plan.objects.update(approved_by=plan.requested_by),
    ]
    for change in changes:
        with pytest.raises(DatabaseError), transaction.atomic():
            change()


def test_five_thousand_lines_take_a_few_statements_and_little_time(finance: User) -> None:
    payouts = make_payouts(5_000)
    started = time.perf_counter()
    with CaptureQueriesContext(connection) as queries:
        plan = make_plan(finance, payouts)
    seconds = time.perf_counter() - started
    assert plan.line_count == 5_000 and plan.totals[0]["total"] == "500000.00"
    assert len(queries) < 25
    assert seconds < 3
    print(f"planned 5,000 lines in {seconds:.2f} s with {len(queries)} statements")
