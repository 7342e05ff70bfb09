"""Plausible items for a fresh machine: the same ones each time for one tenant and one instant."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

from backoffice import money

PAYOUTS, DISPUTES, REVIEWS = 2_000, 1_500, 800
_PEOPLE = (
    "Amelia Hart", "Søren Nygård", "José Antonio Muñoz", "Zoë Brönte-Ellis", "Łukasz Wiśniewski", "Ngô Thị Hạnh",
    "Дарья Соколова", "Γιώργος Παπαδάκης", "محمد الحربي", "נועה לוי", "田中 優子", "王小明", "김서연", "प्रिया शर्मा",
    "สมชาย ใจดี", "O'Neill, Siobhán", "Åsa Öberg", "Chiamaka Obi", "Mateo Álvarez", "Ekaterine Beridze",
)  # fmt: skip
_FIRMS = (
    "Green & Tidy Landscapes Ltd", "Brückner Bau GmbH", "Café Crème SARL", "株式会社さくら", "شركة النور", "ООО «Заря»",
    "Ørsted Consulting ApS", "Smith, Sons & Daughters", "Nordwind Logistik AG", "한빛 무역", "Kōwhai Books",
    "Lumen-9 S.p.A.",
)  # fmt: skip
_SUBJECTS = ("Materials", "Main contractor", "Staff advertising", "Grants", "Rents", "General fees", "Refund")
# Per currency: how often, and how many of its units are worth about one pound.
_CURRENCIES = (
    ("GBP", 50, 1.0),
    ("EUR", 25, 1.16),
    ("USD", 15, 1.27),
    ("JPY", 6, 200.0),
    ("KWD", 3, 0.39),
    ("CHF", 1, 1.1),
)
_STATES = (("pending", 72), ("approved", 18), ("held", 4), ("returned", 6))
_CAUSES = ("fraud", "not-received", "duplicate", "not-as-described", "other")
_COUNTRIES = ("GB", "DE", "FR", "ES", "PL", "JP", "KW", "US", "BR", "IN")


def payouts(*, tenant: str, now: datetime, count: int = PAYOUTS) -> Iterator[dict[str, Any]]:
    """Yield payouts; some are decided already, so that finance has work on the first day."""
    random = _random(tenant, "payouts")
    for number in range(1, count + 1):
        currency, amount = _amount(random, typical=600, spread=1.3, top=38_000)
        payee = random.randrange(len(_PEOPLE) + len(_FIRMS))
        yield {
            "natural_key": f"demo:payout:{number}",
            "reference": f"PO-{100_000 + number}",
            "state": random.choices([s for s, _ in _STATES], [w for _, w in _STATES])[0],
            "opened_at": _opened(random, now, typical_days=5),
            "beneficiary": (*_PEOPLE, *_FIRMS)[payee],
            "account": f"{20_000_000 + payee * 37}",
            "amount": amount,
            "currency": currency,
            "description": random.choice(_SUBJECTS),
        }


def disputes(*, tenant: str, now: datetime, count: int = DISPUTES) -> Iterator[dict[str, Any]]:
    """Yield disputes; evidence has come for most of them."""
    random = _random(tenant, "disputes")
    for number in range(1, count + 1):
        currency, amount = _amount(random, typical=90, spread=1.2, top=9_000)
        opened_at = _opened(random, now, typical_days=3)
        yield {
            "natural_key": f"demo:dispute:{number}",
            "reference": f"DP-{200_000 + number}",
            "state": (state := random.choices(("open", "resolved", "refused"), (85, 10, 5))[0]),
            "opened_at": opened_at,
            "customer": random.choice(_PEOPLE),
            "amount": amount,
            "currency": currency,
            "reason": random.choice(_CAUSES),
            **_answered(random, opened_at, now, still_open=state == "open"),
            "evidence_received_at": opened_at + (now - opened_at) * random.random() if random.random() < 0.6 else None,
        }


def _answered(random: Random, opened_at: datetime, now: datetime, *, still_open: bool) -> dict[str, datetime | None]:
    """Draw where the talk with the customer stands: not begun, ours to go on with, or theirs."""
    first = opened_at + (now - opened_at) * random.random() * 0.5
    last = max(first, now - timedelta(hours=random.random() * 10))
    answered, waits = random.random() < 0.75, random.random() < 0.3 and still_open
    return {
        "first_answered_at": first if answered else None,
        "answered_at": last if answered else None,
        "owed_since": last if answered and not waits else None,
        "waiting_since": last if answered and waits else None,
        "snoozed_until": last + timedelta(days=7) if answered and waits else None,
    }


def reviews(*, tenant: str, now: datetime, count: int = REVIEWS) -> Iterator[dict[str, Any]]:
    """Yield account reviews."""
    random = _random(tenant, "reviews")
    for number in range(1, count + 1):
        yield {
            "natural_key": f"demo:review:{number}",
            "reference": f"AR-{300_000 + number}",
            "state": random.choices(("open", "cleared", "escalated"), (88, 10, 2))[0],
            "opened_at": _opened(random, now, typical_days=4),
            "holder": random.choice((*_PEOPLE, *_FIRMS)),
            "country": random.choice(_COUNTRIES),
        }


def rates(*, base: str, today: date, days: int = 5) -> Iterator[list[str]]:
    """Yield the last days' reference rates against the base currency, as a file of them has them."""
    worth = {code: Decimal(str(units)) for code, _weight, units in _CURRENCIES}
    for back in range(days, 0, -1):
        day = today - timedelta(days=back)
        for code in sorted(worth.keys() - {base}):
            drift = 1 + Decimal((day.toordinal() * 7 + len(code) * sum(map(ord, code))) % 9 - 4) / 1000
            yield [day.isoformat(), code, f"{worth[code] / worth[base] * drift:.6f}", "Demo rates"]


def _random(tenant: str, kind: str) -> Random:
    return Random(f"{tenant}:{kind}")  # noqa: S311  (demo data, not secrets)


def _amount(random: Random, *, typical: float, spread: float, top: float) -> tuple[str, Decimal]:
    """Draw an amount, log-normal around the typical one in pounds, in a currency with its digits."""
    currency, _weight, units = random.choices(_CURRENCIES, [weight for _code, weight, _units in _CURRENCIES])[0]
    pounds = min(random.lognormvariate(math.log(typical), spread), top)
    digits = Decimal(1).scaleb(-money.minor_digits(currency))
    return currency, max(Decimal(pounds * units).quantize(digits), digits)


def _opened(random: Random, now: datetime, *, typical_days: float) -> datetime:
    """Draw an instant before `now`, log-normal around the typical age."""
    days = min(random.lognormvariate(math.log(typical_days), 0.9), 90.0)
    return (now - timedelta(days=days)).replace(microsecond=0)
