"""However a search is read, its pages hold each item that it finds once, in the order of the list."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest

from backoffice.commands import Actor
from backoffice.errors import Refusal
from backoffice.tenants.models import Tenant
from queues import claiming, finding, listing
from queues.base import queues
from queues.models import Payout
from queues.models.item import due_order, list_order
from tests import factories
from tests.making_items import make_payouts

TEXTS = [
    "love",
    "café",
    "ZOE",
    "zoë sohne",
    "p-0",
    "000",
    "1900",
    "&",
    "<",
    "東京",
    "شركة",
    "nobody",
    "p",
    "x",
    "%",
    "_",
]
HOW = {
    "along the list": {"NEAR": 10_000},
    "by the index": {"NEAR": 3, "FEW": 10_000},
    "past the index": {"NEAR": 3, "FEW": 0},
}


def _plain(text: str) -> str:
    parts = unicodedata.normalize("NFKD", text.replace("ß", "ss"))
    return "".join(one for one in parts if not unicodedata.combining(one)).upper()


def _expected(text: str, **wanted: Any) -> list[int]:
    """Find the items without any of our SQL."""
    found = []
    for item in Payout.objects.filter(state="pending", **wanted).order_by(*list_order()):
        words = " " + _plain(f"{item.reference} {item.beneficiary}")
        narrow = len(text) <= 2 and text.isascii() and text.isalnum()
        hits = [
            (f" {_plain(word)}" if narrow else _plain(word)) in words or (word.isdigit() and item.amount == int(word))
            for word in text.split()
        ]
        if all(hits):
            found.append(item.pk)
    return found


def _pages(text: str, **filters: str) -> tuple[list[int], list[int]]:
    """Read all pages on, then all pages back."""
    asked: dict[str, Any] = {"queue": queues.get("payouts"), "filters": {"q": text, **filters}, "size": 7}
    page = listing.page(**asked)
    on, last = [item.pk for item in page.items], page
    while page.after:
        page = listing.page(**asked, after=page.after)
        on += [item.pk for item in page.items]
        last = page
    back = [item.pk for item in last.items]
    while last.before:
        last = listing.page(**asked, before=last.before)
        back = [item.pk for item in last.items] + back
    return on, back


@pytest.mark.parametrize("how", HOW)
def test_pages_hold_each_find_once_in_order_both_ways(
    how: str, tenant: Tenant, other_tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_payouts(tenant=tenant, count=60)
    Payout.objects.filter(reference__endswith="3").update(score=None, score_version=None, scored_at=None)
    Payout.objects.filter(reference__endswith="8").update(score=50)
    for name, value in HOW[how].items():
        monkeypatch.setattr(finding, name, value)
    for text in TEXTS:
        expected = _expected(text)
        assert _pages(text) == (expected, expected), text
    assert _pages("love", currency="GBP") == (_expected("love", currency="GBP"),) * 2
    assert _pages("love", state="approved") == ([], [])
    by_due = Payout.objects.filter(pk__in=_expected("zoe")).order_by(*due_order()).values_list("pk", flat=True)
    assert _pages("zoe", sort="due") == (list(by_due),) * 2


@pytest.mark.parametrize("how", HOW)
def test_claim_next_takes_the_first_find_and_nothing_else(
    how: str, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_payouts(tenant=tenant, count=30)
    for name, value in HOW[how].items():
        monkeypatch.setattr(finding, name, value)
    actor = Actor.person(factories.make_person(tenant=tenant))
    expected = _expected("zoe")
    taken = []
    for number in range(len(expected)):
        key = f"{how}-{number}"
        taken.append(claiming.claim_next(actor=actor, queue="payouts", key=key, filters={"q": "zoe"}).data["item_id"])
    assert taken == expected
    with pytest.raises(Refusal):
        claiming.claim_next(actor=actor, queue="payouts", key=f"{how}-last", filters={"q": "zoe"})


@pytest.mark.parametrize(
    ("counted", "few", "whole"), [(2_000, 5_000, True), (3, 5_000, True), (3, 0, False), (30, 0, False)]
)
def test_a_count_says_when_there_may_be_more(
    counted: int, few: int, whole: bool, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_payouts(tenant=tenant, count=60)
    expected = _expected("northwind")
    monkeypatch.setattr(finding, "COUNTED", counted)
    monkeypatch.setattr(finding, "FEW", few)
    monkeypatch.setattr(finding, "_COMMON", 1)
    count = listing.count(queue=queues.get("payouts"), filters={"q": "northwind"})
    head = list(Payout.objects.order_by(*list_order()).values_list("pk", flat=True)[:counted])
    assert count == listing.Count(len(expected if whole else set(expected) & set(head)), capped=not whole)
