"""Make queue items for the tests of the pages, scored by the queue's own rule."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

from backoffice import clock
from backoffice.commands import Actor
from backoffice.tenants.models import Tenant
from queues import scoring
from queues.models import AccountReview, Dispute, Payout, ReferenceRate

PAYEES = [
    ("Ada Lovelace Ltd", "1900.00", "GBP", 6),
    ("Café Zoë & Söhne GmbH", "23800.50", "EUR", 31),
    ("東京商事株式会社", "4899000", "JPY", 12),
    ("شركة الخليج للتجارة", "6520.125", "KWD", 9),
    ("Northwind Traders", "88.10", "USD", 2),
    ("Bright & Sons <Builders>", "12450.00", "GBP", 18),
]


RATES = {"GBP": "0.87", "EUR": "1", "USD": "1.087", "JPY": "174", "KWD": "0.334"}  # one euro in each


def make_rates(*, tenant: Tenant, **wanted: str) -> None:
    """Give the tenant, whose own currency is the euro, rates of yesterday."""
    day = clock.now().date() - timedelta(days=1)
    rates = {**RATES, **wanted}
    made = [
        ReferenceRate(tenant=tenant, base="EUR", currency=code, rate=Decimal(rate), as_of=day, source="Test rates")
        for code, rate in rates.items()
        if code != "EUR"
    ]
    ReferenceRate.objects.bulk_create(made, ignore_conflicts=True)


def make_payouts(*, tenant: Tenant, count: int = len(PAYEES), prefix: str = "P", **wanted: Any) -> list[Payout]:
    """Create payouts of several currencies, scripts and ages, then score them. The second is the top."""
    make_rates(tenant=tenant)
    made = []
    for number in range(count):
        payee, amount, currency, days = PAYEES[number % len(PAYEES)]
        known = {
            "reference": f"{prefix}-{number + 1:05d}",
            "beneficiary": payee,
            "account": f"GB29 NWBK 6016 {number:04d}",
            "amount": Decimal(amount),
            "currency": currency,
            "opened_at": clock.now() - timedelta(days=days, minutes=number),
            "description": "Quarterly supplier settlement",
        }
        made.append(Payout.objects.create(tenant=tenant, **{**known, **wanted}))
    score("payouts")
    return made


def make_dispute(*, tenant: Tenant, **wanted: Any) -> Dispute:
    """Create one open dispute."""
    known = {
        "reference": f"D-{uuid4().hex[:6]}",
        "customer": "Grace Hopper",
        "amount": Decimal("420.00"),
        "currency": "EUR",
        "reason": "fraud",
        "opened_at": clock.now() - timedelta(days=3),
    }
    return Dispute.objects.create(tenant=tenant, **{**known, **wanted})


def make_review(*, tenant: Tenant, **wanted: Any) -> AccountReview:
    """Create one open account review."""
    known = {
        "reference": f"R-{uuid4().hex[:6]}",
        "holder": "Grace Hopper",
        "country": "GB",
        "opened_at": clock.now() - timedelta(days=3),
    }
    return AccountReview.objects.create(tenant=tenant, **{**known, **wanted})


def score(queue: str) -> None:
    """Score the queue's open items now."""
    scoring.rescore(actor=Actor.system("demo", acting_for="test"), queue=queue, now=clock.now(), key=uuid4().hex)
