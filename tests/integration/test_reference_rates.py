"""Reference rates: what a file may say, what a second load does, and what a score makes of them."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import IntegrityError
from hypothesis import given, settings
from hypothesis import strategies as st

from backoffice.commands import Actor
from backoffice.errors import Refusal
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant
from queues import queues, scoring
from queues.ingest import rates
from queues.models import Dispute, ReferenceRate
from tests.making_items import make_dispute

NOW = datetime(2026, 6, 10, 12, tzinfo=UTC)
HEADER = "date,currency,rate,source\n"
SHELL = Actor.system("shell", acting_for="a test")


def load(folder: Path, text: str | bytes) -> rates.Summary:
    path = folder / "rates.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return rates.load_file(actor=SHELL, path=path, now=NOW)


def test_a_second_load_changes_nothing_and_a_correction_is_counted(tenant: Tenant, tmp_path: Path) -> None:
    text = HEADER + "2026-06-01,GBP,0.87,ECB\n2026-06-01,USD,1.0800,ECB\n\n"
    assert load(tmp_path, text) == rates.Summary(read=2, added=2, corrected=0, unchanged=0)
    assert load(tmp_path, text) == rates.Summary(read=2, added=0, corrected=0, unchanged=2)
    assert load(tmp_path, text.replace("1.0800", "1.09")) == rates.Summary(read=2, added=0, corrected=1, unchanged=1)
    assert str(ReferenceRate.objects.get(currency="USD")) == "1 EUR = 1.09 USD (2026-06-01, ECB)"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("2026-06-01,GBP,NaN,ECB", "is no rate"),
        ("2026-06-01,GBP,inf,ECB", "is no rate"),
        ("2026-06-01,GBP,-0.87,ECB", "is no rate"),
        ("2026-06-01,GBP,0.0,ECB", "is no rate"),
        ("2026-06-01,GBP,1e3,ECB", "is no rate"),
        ("2026-06-01,GBP,٣,ECB", "is no rate"),
        ("2026-06-01,GBP,12345678901,ECB", "is no rate"),
        ("2026-06-01,GBP,0.12345678901,ECB", "is no rate"),
        ("2026-06-01,GBX,0.87,ECB", "is not a currency"),
        ("2026-06-01,gbp,0.87,ECB", "is not a currency"),
        ("2026-06-01,EUR,1,ECB", "own currency"),
        ("2026-13-01,GBP,0.87,ECB", "is no day"),
        ("01/06/2026,GBP,0.87,ECB", "is no day"),
        ("2036-06-01,GBP,0.87,ECB", "is no day"),
        ("2026-06-01,GBP,0.87,", "the source is missing"),
        ("2026-06-01,GBP,0.87," + "x" * 101, "the source is missing"),
        ("2026-06-01,GBP,0.87,a\x00b", "the source is missing"),
        ("2026-06-01,GBP,0.87", "four cells"),
        ("2026-06-01,GBP,0,87,ECB", "four cells"),
    ],
)
def test_a_line_that_cannot_be_right_refuses_the_whole_file(
    line: str, words: str, tenant: Tenant, tmp_path: Path
) -> None:
    with pytest.raises(Refusal, match=words):
        load(tmp_path, HEADER + "2026-06-01,USD,1.08,ECB\n" + line + "\n")
    assert not ReferenceRate.objects.exists()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "columns"),
        (HEADER, "empty"),
        ("date;currency;rate;source\n", "columns"),
        (HEADER.encode("utf-16"), "encoding"),
        (HEADER + '"2026-06-01,GBP', "unreadable"),
        (HEADER + "2026-06-01,GBP,0.87,ECB\n2026-06-01,GBP,0.88,ECB\n", "bad-line"),
    ],
)
def test_a_file_that_is_none_is_refused(text: str | bytes, code: str, tenant: Tenant, tmp_path: Path) -> None:
    with pytest.raises(Refusal) as refused:
        load(tmp_path, text)
    assert refused.value.code == code


@settings(max_examples=60, deadline=None)
@given(cells=st.lists(st.text(max_size=30), min_size=1, max_size=5))
def test_whatever_a_line_holds_it_is_kept_whole_or_refused_in_words(cells: list[str]) -> None:
    try:
        day, currency, rate, source = rates.checked(2, cells, latest=date(2026, 6, 10), base="EUR")
    except Refusal as refusal:
        words = str(refusal.message)
    else:
        words = "Line 2: kept"
        assert date.fromisoformat(day).year >= 1990
        assert Decimal(rate) > 0
        assert len(currency) == 3
        assert source
    assert words.startswith("Line 2: ")


def test_the_database_itself_refuses_a_rate_that_is_not_above_zero(tenant: Tenant) -> None:
    for rate in (Decimal(0), Decimal(-1)):
        with pytest.raises(IntegrityError):
            ReferenceRate.objects.create(
                tenant=tenant, base="EUR", currency="GBP", as_of=NOW.date(), rate=rate, source="x"
            )


def test_the_command_loads_and_refuses_in_words(
    tenant: Tenant, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "r.csv"
    path.write_text(HEADER + "2026-06-01,GBP,0.87,ECB\n")
    item = scored(tenant, currency="GBP", amount=Decimal(1_740))
    assert item.score == 0
    call_command("ingest", "rates", str(path), tenant=tenant.slug)
    item.refresh_from_db()
    assert [one["points"] for one in item.score_inputs if one["name"] == "amount"] == [40]
    assert "read 1 = added 1 + corrected 0 + unchanged 0 rates against EUR" in capsys.readouterr().out
    path.write_text(HEADER + "2026-06-01,GBP,-1,ECB\n")
    with pytest.raises(CommandError, match="Nothing was loaded"):
        call_command("ingest", "rates", str(path), tenant=tenant.slug)


# ------------------------------------------------------------------ what a score makes of them


def rate(tenant: Tenant, currency: str, value: str, day: date, base: str = "EUR") -> None:
    ReferenceRate.objects.create(
        tenant=tenant, base=base, currency=currency, rate=Decimal(value), as_of=day, source="Bank"
    )


def scored(tenant: Tenant, **wanted: Any) -> Dispute:
    item = make_dispute(tenant=tenant, opened_at=NOW, evidence_received_at=NOW, **wanted)
    scoring.score_range(queues.get("disputes"), first=item.pk, last=item.pk, now=NOW)
    item.refresh_from_db()
    return item


def test_the_newest_rate_not_after_today_counts_and_the_page_has_its_source(tenant: Tenant) -> None:
    for day, value in ((9, "2"), (8, "100"), (11, "400")):
        rate(tenant, "GBP", value, date(2026, 6, day))
    item = scored(tenant, currency="GBP", amount=Decimal(1900))
    told = scoring.explain(item, now=NOW)
    assert told.sentence == "urgency 19: GBP 1,900.00 (+19), 0 days old (+0)"
    assert told.rows[0].origin == "1 EUR = 2 GBP, Bank of 9 Jun 2026"


def test_a_missing_rate_is_said_and_never_taken_as_one(tenant: Tenant, other_tenant: Tenant) -> None:
    with scope.open(other_tenant):
        rate(other_tenant, "KWD", "0.3", date(2026, 6, 9))
    rate(tenant, "KWD", "0.3", date(2026, 6, 9), base="USD")  # against another base than the tenant's
    rate(tenant, "KWD", "0.3", date(2026, 6, 11))  # not known yet today
    item = scored(tenant, currency="KWD", amount=Decimal(9_000))
    assert item.score == 0
    assert scoring.explain(item, now=NOW).sentence == "urgency 0: KWD 9,000.000, no rate for KWD (+0), 0 days old (+0)"


def test_an_old_rate_still_counts_and_is_said(tenant: Tenant) -> None:
    rate(tenant, "GBP", "1", date(2026, 6, 2))
    item = scored(tenant, currency="GBP", amount=Decimal(2_000))
    told = scoring.explain(item, now=NOW)
    assert "GBP 2,000.00, rate of 2 Jun 2026 is old (+40)" in told.sentence
    assert "old (+40)" not in scoring.explain(item, now=NOW, stale_days=8).sentence


def test_the_tenants_own_currency_needs_no_rate(tenant: Tenant) -> None:
    item = scored(tenant, currency="EUR", amount=Decimal(1_000))
    assert item.score == 20
    assert scoring.explain(item, now=NOW).rows[0].origin == ""
