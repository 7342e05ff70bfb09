"""What a search in a queue finds: references, parties in any script, amounts; of the open tenant alone."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from backoffice.tenants import scope
from backoffice.tenants.models import Tenant
from queues import finding, listing, searching
from queues.base import Queue, queues
from queues.models import Payout, SearchText
from tests.making_items import make_dispute, make_payouts, make_review


def _found(text: str, queue: str = "payouts", **filters: str) -> list[str]:
    found = listing.page(queue=queues.get(queue), filters={"q": text, **filters}).items
    return sorted(getattr(item, queues.get(queue).search[1]) for item in found)


@pytest.mark.parametrize(
    ("text", "payees"),
    [
        ("love", ["Ada Lovelace Ltd"]),
        ("ZOË", ["Café Zoë & Söhne GmbH"]),
        ("東京商", ["東京商事株式会社"]),
        ("東京", ["東京商事株式会社"]),
        ("شركة", ["شركة الخليج للتجارة"]),
        ("P-00005", ["Northwind Traders"]),
        ("no", ["Northwind Traders"]),
        ("<Build", ["Bright & Sons <Builders>"]),
        ("<", ["Bright & Sons <Builders>"]),
        ("zoe", ["Café Zoë & Söhne GmbH"]),
        ("sohne CAFE", ["Café Zoë & Söhne GmbH"]),
        ("Zoe\u0308", ["Café Zoë & Söhne GmbH"]),
        ("Ｚｏｅ", ["Café Zoë & Söhne GmbH"]),
        ("式会", ["東京商事株式会社"]),
        ("traders north", ["Northwind Traders"]),
        ("traders zoe", []),
        ("love 1900", ["Ada Lovelace Ltd"]),
        ("love 1901", []),
        ("\u0301", []),
        ("1900", ["Ada Lovelace Ltd"]),
        ("1,900.00", ["Ada Lovelace Ltd"]),
        ("1.900,00", ["Ada Lovelace Ltd"]),
        ("gbp 1900", ["Ada Lovelace Ltd"]),
        ("1 900 GBP", ["Ada Lovelace Ltd"]),
        ("EUR 1900", []),
        ("6520.125", ["شركة الخليج للتجارة"]),
        ("100%", []),
        ("_", []),
    ],
)
def test_search_finds_references_parties_and_amounts(tenant: Tenant, text: str, payees: list[str]) -> None:
    make_payouts(tenant=tenant)
    assert _found(text) == payees


def test_every_queue_finds_each_field_that_it_says_it_searches(tenant: Tenant) -> None:
    made = {
        "payouts": make_payouts(tenant=tenant, count=1)[0],
        "disputes": make_dispute(tenant=tenant),
        "reviews": make_review(tenant=tenant),
    }
    for name, item in made.items():
        queue: Queue = queues.get(name)
        for field in queue.search:
            found = listing.page(queue=queue, filters={"q": getattr(item, field)}).items
            assert [one.pk for one in found] == [item.pk], (name, field)


def test_every_queue_enters_what_it_searches(tenant: Tenant, superuser: Any) -> None:
    for queue in queues:
        table = queue.model._meta.db_table
        source = superuser.execute("SELECT prosrc FROM pg_proc WHERE proname = %s", [f"{table}_search_new"]).fetchone()
        assert source and f"'', {', '.join(queue.search)})" in source[0], queue.name


def test_a_common_word_finds_the_same_while_the_list_is_walked(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    make_payouts(tenant=tenant, count=12)
    known = [_found(text) for text in ("love", "1900", "P-0", "zzz")]
    monkeypatch.setattr(finding, "FEW", 0)
    monkeypatch.setattr(finding, "NEAR", 3)
    assert [_found(text) for text in ("love", "1900", "P-0", "zzz")] == known
    assert [len(found) for found in known] == [2, 2, 12, 0]


def test_search_meets_nothing_of_another_tenant(tenant: Tenant, other_tenant: Tenant) -> None:
    with scope.open(other_tenant):
        make_payouts(tenant=other_tenant)
    assert _found("Lovelace") == []


def test_search_follows_a_change_and_forgets_what_is_gone(tenant: Tenant) -> None:
    payout = make_payouts(tenant=tenant, count=1)[0]
    Payout.objects.filter(pk=payout.pk).update(beneficiary="Charles Babbage", amount=Decimal("77"))
    assert _found("Lovelace") == [] and _found("babb") == _found("77") == ["Charles Babbage"]
    Payout.objects.filter(pk=payout.pk).delete()
    assert not SearchText.objects.exists()


def test_search_lists_an_item_once_that_matches_by_word_and_amount(tenant: Tenant) -> None:
    make_payouts(tenant=tenant, count=1, beneficiary="1900 Club")
    assert _found("1900") == ["1900 Club"]
    assert str(listing.count(queue=queues.get("payouts"), filters={"q": "1900"})) == "1"


def test_claiming_and_scoring_leave_the_words_alone(tenant: Tenant, superuser: Any) -> None:
    payout = make_payouts(tenant=tenant, count=1)[0]
    seen = "SELECT xmin::text FROM queues_searchtext"
    before = superuser.execute(seen).fetchall()
    Payout.objects.filter(pk=payout.pk).update(score=3, claim_token=9)
    assert superuser.execute(seen).fetchall() == before


@pytest.mark.parametrize(
    ("text", "amounts", "currency"),
    [
        ("1900", ["1900"], ""),
        ("1,900", ["1.900", "1900"], ""),
        ("1,900,000", ["1900000"], ""),
        ("12,5", ["12.5"], ""),
        ("1'234.50 chf", ["1234.50"], "CHF"),
        ("EUR 5 EUR", [], ""),
        ("1,2,3", [], ""),
        ("9" * 30, [], ""),
        ("P-1900", [], ""),
        ("", [], ""),
    ],
)
def test_an_amount_is_read_as_people_write_it(text: str, amounts: list[str], currency: str) -> None:
    read, named = searching.read_amount(text)
    assert read == [Decimal(amount) for amount in amounts]
    assert named == currency or not amounts
