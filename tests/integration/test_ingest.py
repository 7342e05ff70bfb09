"""Files load whole or not at all, every row is accounted for, and a second load changes nothing."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from backoffice.commands import Actor
from backoffice.errors import Refusal
from backoffice.tenants.models import Tenant
from queues.ingest import loading, spend
from queues.models import Payout

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
REAL = Path(__file__).resolve().parents[3] / "shared" / "data"
HEADER = (
    "Body Name,Organisational Unit,Expenditure Category,Expenditure Code,Paid Date,"
    "Trans No,Amount,Type,Supplier ID,Supplier Name"
)
FILES = sorted((REAL / "payouts" / "oxford-spend").glob("*.csv"))


def load(path: Path, currency: str = "GBP") -> loading.Summary:
    summary = loading.load_file(actor=Actor.system("shell", acting_for="a test"), path=path, currency=currency, now=NOW)
    assert summary.read == summary.accepted + summary.already + summary.dropped_count
    assert set(summary.dropped) <= set(spend.REASONS)
    return summary


def drops(summary: loading.Summary) -> dict[str, list[int]]:
    return {reason: found["lines"] for reason, found in summary.dropped.items()}


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., Path]:
    def write(*rows: str, header: str = HEADER, encoding: str = "utf-8", end: str = "\n") -> Path:
        path = tmp_path / "payments.csv"
        path.write_bytes((end.join([header, *rows]) + end).encode(encoding))
        return path

    return write


def row(
    number: str = "1_1", amount: str = "10.00", day: str = "21/01/2026", name: str = "Ada", account: str = "S1"
) -> str:
    return f"Council,Unit,Rents,K1,{day},{number},{amount},Revenue,{account},{name}"


@pytest.mark.skipif(not FILES, reason="the folder of real files is not there")
def test_the_six_real_files_add_up_and_a_second_load_changes_nothing(tenant: Tenant) -> None:
    expected = {
        "apr-jun-2014.csv": (3836, {}),
        "jan-mar-2014.csv": (3860, {spend.BLANK: 1}),
        "jan-mar-2016.csv": (3908, {}),
        "jan-mar-2018.csv": (1220, {spend.NO_PAYEE: 9}),
        "jul-sep-2014.csv": (3649, {spend.ZERO: 1}),
        "jul-sep-2015.csv": (3461, {spend.DUPLICATE: 2}),
    }
    total = credits = 0
    for path in FILES:
        summary = load(path)
        read, dropped = expected[path.name]
        assert (summary.read, {r: f["count"] for r, f in summary.dropped.items()}) == (read, dropped), path.name
        assert summary.already == 0
        assert summary.undated == (3836 if path.name == "apr-jun-2014.csv" else 0)
        with path.open(encoding="utf-8-sig", newline="") as text:
            amounts = [r[6] for r in list(csv.reader(text))[1:] if r[6].strip() not in ("", "0")]
        total += summary.accepted
        credits += sum(amount.startswith("-") for amount in amounts)
    assert Payout.objects.count() == total == 19_934 - 13
    assert Payout.objects.filter(state="credit").count() == credits == 27
    assert not Payout.objects.filter(state="pending", score=None).exists()
    assert not Payout.objects.filter(state="credit").exclude(score=None).exists()
    before = list(Payout.objects.order_by("pk").values())
    for path in FILES:
        summary = load(path)
        assert summary.accepted == 0 and summary.already > 1_200
    assert list(Payout.objects.order_by("pk").values()) == before


def test_every_odd_row_gets_its_one_reason_and_line(tenant: Tenant, file: Callable[..., Path]) -> None:
    path = file(
        row("1"),
        row("2", amount='"1,500.50"'),
        row("3", amount="(20)"),
        row("4", amount="abc"),
        row("5", amount="0.00"),
        row("6", amount="1.005"),
        row("7", name=" "),
        row(" "),
        ",,xxx,,,,,,,",
        "a,b,c",
        row("8") + ",extra",
        row("8") + ",,",
        row("9", name="x" * 201),
        row("1"),
        row("1", name="Somebody else"),
        row("10", amount="10" * 10),
        row("11", day="00:00:00"),
        row("12", day="31/02/2026"),
        row("13", name='"two\nlines"'),
        row("14", name="nul\x00"),
        row("15", amount="１０"),
        row("1036863 - 4", amount="£7"),
    )
    summary = load(path)
    assert drops(summary) == {
        spend.NO_AMOUNT: [5, 23],
        spend.CELLS: [11, 12],
        spend.OUT_OF_RANGE: [7, 17],
        spend.ZERO: [6],
        spend.NO_PAYEE: [8],
        spend.NO_REFERENCE: [9],
        spend.BLANK: [10],
        spend.TOO_LONG: [14],
        spend.DUPLICATE: [15],
        spend.CONFLICT: [16],
        spend.POISON: [22],
    }
    kept = {p.reference: p for p in Payout.objects.all()}
    assert set(kept) == {"1", "2", "3", "8", "11", "12", "13", "1036863_4"}
    assert kept["2"].amount == Decimal("1500.50") and kept["2"].currency == "GBP"
    assert (kept["3"].state, kept["3"].amount, kept["3"].score) == ("credit", Decimal("-20"), None)
    assert kept["11"].date_missing and kept["11"].opened_at == NOW and summary.undated == 2
    assert kept["13"].beneficiary == "two\nlines"
    assert kept["1"].opened_at == datetime(2026, 1, 21, tzinfo=UTC)


def test_a_day_is_the_tenants_day(tenant: Tenant, file: Callable[..., Path]) -> None:
    tenant.time_zone = "America/New_York"
    load(file(row()))
    assert Payout.objects.get().opened_at == datetime(2026, 1, 21, 5, tzinfo=UTC)


def test_a_file_without_a_needed_column_loads_nothing_and_names_it(tenant: Tenant, file: Callable[..., Path]) -> None:
    for header, words in (
        ("Body Name,Trans No,Colour", "The file lacks these columns: amount, supplier id, supplier name."),
        (HEADER.replace("Type", "Amount"), "Two columns of the file both mean “amount”."),
    ):
        with pytest.raises(Refusal) as refused:
            load(file(row(), header=header))
        assert str(refused.value.message) == words
    assert not Payout.objects.exists()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_the_encoding_is_found_and_said(tenant: Tenant, file: Callable[..., Path], encoding: str, end: str) -> None:
    summary = load(file(row(name="Café Müller"), encoding=encoding, end=end))
    assert summary.encoding == ("utf-8-sig" if encoding == "utf-8" else encoding)
    assert Payout.objects.get().beneficiary == "Café Müller"


def test_drifted_headers_are_understood_and_said(tenant: Tenant, file: Callable[..., Path]) -> None:
    header = (
        "BODY_NAME,Organisational Unit,Expenditure Catergory,Expenditure Code,PaidDate,"
        "Trans No ,amount,Colour,Supplier_ID,Suplier Name"
    )
    summary = load(file(row(), header=header))
    assert summary.accepted == 1 and summary.undated == 0
    assert "column “Suplier Name” is read as “supplier name”" in summary.notes
    assert "column “Colour” is not used" in summary.notes


def test_the_command_says_what_became_of_every_row(
    tenant: Tenant, file: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path = file(row("1"), row("2", amount="-5"), row("1"))
    call_command("ingest", "payouts", str(path), tenant="acme")
    said = capsys.readouterr().out
    assert "read 3 = accepted 2 + already loaded 0 + dropped 1" in said
    assert "dropped 1 duplicate: the same row stands further up in the file (line 4)" in said
    call_command("ingest", "payouts", str(path), tenant="acme")
    assert "read 3 = accepted 0 + already loaded 2 + dropped 1" in capsys.readouterr().out
    for arguments, words in (
        ({"tenant": "nobody"}, "no tenant"),
        ({"tenant": "acme", "currency": "pounds"}, "three capital letters"),
    ):
        with pytest.raises(CommandError, match=words):
            call_command("ingest", "payouts", str(path), **arguments)
    with pytest.raises(CommandError, match="There is no file"):
        call_command("ingest", "payouts", str(path) + "x", tenant="acme")


@pytest.mark.skipif(not (REAL / "hostile-strings").exists(), reason="the folder of real files is not there")
def test_hostile_strings_survive_unharmed(tenant: Tenant, tmp_path: Path) -> None:
    strings = [s for s in json.loads((REAL / "hostile-strings" / "blns.json").read_text()) if s.strip()]
    strings += [s for s in (REAL / "hostile-strings" / "blns.txt").read_text().splitlines() if s.strip()]
    kept = [s for s in dict.fromkeys(strings) if "\x00" not in s and len(s.strip()) in range(1, 201)]
    path = tmp_path / "hostile.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(HEADER.split(","))
        for number, text in enumerate(kept):
            writer.writerow(["C", "U", "R", "K", "21/01/2026", number, "10", "Revenue", "S1", text])
    summary = load(path)
    assert summary.accepted == len(kept) > 400
    found = {p.reference: p.beneficiary for p in Payout.objects.all()}
    assert found == {str(number): text.strip() for number, text in enumerate(kept)}


def test_a_missing_quote_is_pointed_out_and_the_rest_is_loaded(tenant: Tenant, file: Callable[..., Path]) -> None:
    lost = [row(str(number)) for number in range(3_000)]
    summary = load(file(row("first"), row("broken", name='"Ada'), *lost, row("last")))
    assert summary.dropped[spend.POISON]["lines"] == [3]
    assert [note for note in summary.notes if "line 3 runs to line" in note and "quote missing" in note]
    assert {"first", "last"} <= set(Payout.objects.values_list("reference", flat=True))


@pytest.mark.parametrize(
    ("content", "code"), [(b"", "empty"), (b"\xff\xfea", "unreadable"), (b"\x81\x8d", "unreadable")]
)
def test_what_is_no_text_is_refused(tenant: Tenant, tmp_path: Path, content: bytes, code: str) -> None:
    path = tmp_path / "odd.csv"
    path.write_bytes(content)
    with pytest.raises(Refusal) as refused:
        load(path)
    assert refused.value.code == code


def test_a_file_name_that_is_no_text_does_not_stop_its_load(tenant: Tenant, file: Callable[..., Path]) -> None:
    path = file(row())
    odd = path.rename(path.with_name("caf\udce9.csv"))
    call_command("ingest", "payouts", str(odd), tenant="acme")
    assert Payout.objects.count() == 1
