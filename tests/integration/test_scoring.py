"""The one statement that scores equals the rule worked out by hand, and writes only what changes."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backoffice.commands import Actor
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant
from queues import Age, Field, Lookup, Ramp, ScoreRule, Step, queues, scoring
from queues.models import Dispute, ReferenceRate

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
SYSTEM = Actor.system("schedules", acting_for="a test")
RATES = {"EUR": "1", "GBP": "0.8765432101", "USD": "1.1", "JPY": "170.000001", "KWD": "0.3333333333"}


def half_up(share: Fraction) -> int:
    return int((Decimal(share.numerator) / Decimal(share.denominator)).quantize(Decimal(1), ROUND_HALF_UP))


def ramp(value: Fraction, full: Fraction, points: int) -> int:
    return half_up(points * min(max(value, Fraction(0)), full) / full)


def urgency(item: Dispute) -> list[int]:
    """Work out dispute.urgency-score by hand."""
    amount = (
        ramp(Fraction(item.amount) / Fraction(RATES[item.currency]), Fraction(2_000), 40)
        if item.currency in RATES
        else 0
    )
    age = ramp(Fraction((NOW - item.opened_at) // timedelta(days=1)), Fraction(10), 40)
    return [amount, age, 20 if item.evidence_received_at is None else 0]


def have_rates(tenant: Tenant, **more: str) -> None:
    """Give the tenant, whose own currency is the euro, rates of the day before."""
    ReferenceRate.objects.all().delete()
    for code, rate in {**RATES, **more}.items():
        if code != "EUR":
            ReferenceRate.objects.create(
                tenant=tenant, base="EUR", currency=code, rate=Decimal(rate), as_of=date(2026, 5, 31), source="Bank"
            )


disputes = st.builds(
    dict,
    amount=st.decimals(min_value="0.0001", max_value="999999999999", places=4)
    | st.sampled_from([Decimal(n) / 4 for n in range(1, 9_000, 85)]),
    currency=st.sampled_from([*RATES, "CHF", "XXX"]),
    opened_at=st.datetimes(datetime(2026, 5, 15), datetime(2026, 6, 3), timezones=st.just(UTC))
    | st.sampled_from([NOW - timedelta(days=d, microseconds=m) for d in range(12) for m in (-1, 0, 1)]),
    evidence_received_at=st.none() | st.just(NOW),
)


@pytest.mark.proves("jobs#order-queue-items-by-score")
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(items=st.lists(disputes, min_size=1, max_size=40))
def test_the_statement_equals_the_rule_worked_out_by_hand(tenant: Tenant, items: list[dict[str, Any]]) -> None:
    Dispute.objects.all().delete()
    have_rates(tenant)
    made = [
        Dispute(tenant=tenant, reference=str(n), customer="Ada", reason="fraud", **one) for n, one in enumerate(items)
    ]
    Dispute.objects.bulk_create(made)
    first, last = made[0].pk, made[-1].pk
    assert scoring.score_range(queues.get("disputes"), first=first, last=last, now=NOW) == len(made)
    for item in Dispute.objects.all():
        points = urgency(item)
        assert [one["points"] for one in item.score_inputs] == points
        assert item.score == sum(points)
        assert (item.score_rule, item.score_version, item.scored_at) == ("dispute.urgency-score", 3, NOW)
        assert scoring.explain(item).sentence.startswith(f"urgency {item.score}: {item.currency} ")
    assert scoring.score_range(queues.get("disputes"), first=first, last=last, now=NOW) == 0


def test_steps_look_ups_and_hours_compile_too(tenant: Tenant) -> None:
    class Some(ScoreRule):
        name, version, title, citation = "test.some-score", 1, "some", "none"
        inputs = (
            Step("old", Age("opened_at", per="hours"), steps=((1, 5), (24, 9))),
            Lookup("reason", Field("reason"), table={"fraud": 7, "other": 1}, default=2),
            Ramp("token", Field("claim_token"), full_at=3, points=10),
        )

    for hours, reason, token in ((0, "fraud", 0), (1, "other", 1), (30, "duplicate", 9)):
        Dispute.objects.create(
            tenant=tenant,
            reference=str(hours),
            customer="Ada",
            amount=1,
            currency="EUR",
            reason=reason,
            opened_at=NOW - timedelta(hours=hours),
            claim_token=token,
        )
    rows = Dispute.objects.order_by("pk").annotate(given=scoring.total(Some(), now=NOW))
    assert [row.given for row in rows] == [0 + 7 + 0, 5 + 1 + 3, 9 + 2 + 10]


def test_a_rescore_touches_the_open_items_of_its_tenant_in_batches(
    tenant: Tenant, other_tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scoring, "BATCH", 3)
    common = {"customer": "Ada", "amount": 1, "currency": "EUR", "reason": "fraud", "opened_at": NOW}
    for number in range(8):
        Dispute.objects.create(tenant=tenant, reference=str(number), **common)
        with scope.open(other_tenant):
            Dispute.objects.create(tenant=other_tenant, reference=str(number), **common)
    decided = Dispute.objects.create(tenant=tenant, reference="done", state="refused", **common)
    assert scoring.rescore(actor=SYSTEM, queue="disputes", now=NOW, key="one") == 8
    assert scoring.rescore(actor=SYSTEM, queue="disputes", now=NOW + timedelta(hours=1), key="two") == 0
    assert scoring.rescore(actor=SYSTEM, queue="disputes", now=NOW + timedelta(days=1), key="three") == 8
    assert Dispute.objects.get(pk=decided.pk).score is None
    assert scoring.rescore(actor=SYSTEM, queue="reviews", now=NOW, key="four") == 0
    with scope.open(other_tenant):
        assert not Dispute.objects.exclude(score=None).exists()
