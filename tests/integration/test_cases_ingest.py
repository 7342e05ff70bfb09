"""Files that others took for something else: an encoding guessed early, a workbook of no rows, columns merged."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from backoffice import clock, storage
from backoffice.commands import Actor
from backoffice.errors import Refusal
from backoffice.tenants.models import Tenant, User
from exports import requesting
from exports.base import exports
from queues.ingest import loading, rates, spend
from queues.models import Payout
from tests import making_files

XLSX = Path(__file__).resolve().parents[3] / "shared" / "data" / "xlsx"
HEADER = "Trans No,Amount,Supplier ID,Supplier Name"
SHELL = Actor.system("shell", acting_for="test")


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str | bytes], Path]:
    def write(content: str | bytes) -> Path:
        path = tmp_path / "in.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def load(path: Path, *, currency: str = "GBP") -> loading.Summary:
    return loading.load_file(actor=SHELL, path=path, currency=currency, now=clock.now())


@pytest.mark.case("IN-05")
@pytest.mark.parametrize("ascii_bytes", [1_779, 100_000, 1_048_575, 1_048_576])
def test_utf_8_is_found_however_late_it_shows(
    ascii_bytes: int, tenant: Tenant, file: Callable[[str | bytes], Path]
) -> None:
    last = "last,1.00,S,"
    rows = "\n".join([HEADER, *(f"T{at},1.00,S{at},{'a' * 170}" for at in range(ascii_bytes // 200))])
    blank = "\n" * (ascii_bytes - len(rows) - len(last))  # so that the first letter beyond ASCII stands just there
    content = f"{rows}{blank}{last}Łódź 张三 O’Brien".encode()
    assert next(at for at, byte in enumerate(content) if byte > 127) == ascii_bytes
    summary = load(file(content))
    assert summary.encoding == "utf-8-sig"
    assert Payout.objects.get(reference="last").beneficiary == "Łódź 张三 O’Brien"


@pytest.mark.case("IN-01")
def test_an_amount_is_kept_exact_or_dropped_never_rounded(tenant: Tenant, file: Callable[[str | bytes], Path]) -> None:
    amounts = ["1.4", "274.66", "0.30", "274.65999999999997", "0.30000000000000004", "1e2", "１.4", "-0", "NaN", "٣"]
    rows = [f"T{at},{amount},S{at},Payee {at}" for at, amount in enumerate(amounts)]
    summary = load(file("\n".join([HEADER, *rows])))
    kept = {payout.reference: payout.amount for payout in Payout.objects.all()}
    assert kept == {"T0": Decimal("1.4"), "T1": Decimal("274.66"), "T2": Decimal("0.30")}
    assert {reason: found["lines"] for reason, found in summary.dropped.items()} == {
        spend.OUT_OF_RANGE: [5, 6],
        spend.NO_AMOUNT: [7, 8, 10, 11],
        spend.ZERO: [9],
    }
    assert summary.read == summary.accepted + summary.already + summary.dropped_count


def _workbook(sheet: str) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as book:
        book.writestr("xl/worksheets/sheet1.xml", f'<worksheet><dimension ref="A1:C1"/>{sheet}</worksheet>')
    return data.getvalue()


@pytest.mark.case("IN-06", "IN-07")
@pytest.mark.parametrize(
    ("content", "code"),
    [
        (_workbook("<sheetData><row><c><v>1</v></c></row></sheetData>"), "workbook"),
        (_workbook(""), "workbook"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 500, "workbook"),
        (b"%PDF-1.7\n" + b"a,b\n" * 50, "no-table"),
        (b"\x1f\x8b\x08" + b"a,b\n" * 50, "no-table"),
        (b"\xef\xbb\xbf  <?xml version='1.0'?><a/>", "no-table"),
    ],
)
def test_what_is_no_csv_fails_in_words_and_is_never_an_empty_success(
    content: bytes, code: str, tenant: Tenant, file: Callable[[str | bytes], Path]
) -> None:
    path = file(content)
    with pytest.raises(Refusal) as refused:
        load(path)
    assert refused.value.code == code
    for what in ("payouts", "rates"):
        with pytest.raises(CommandError, match="Nothing was loaded"):
            call_command("ingest", what, str(path), tenant="acme")
    with pytest.raises(Refusal):
        rates.load_file(actor=SHELL, path=path, now=clock.now())
    assert not Payout.objects.exists()


@pytest.mark.skipif(not XLSX.is_dir(), reason="the workbooks are not on this machine")
def test_real_workbooks_are_refused_in_words(tenant: Tenant) -> None:
    books = sorted(XLSX.glob("*.xlsx"))
    assert len(books) > 3
    for book in books:
        with pytest.raises(Refusal) as refused:
            load(book)
        assert refused.value.code == "workbook" and "CSV" in str(refused.value.message)


@pytest.mark.case("IN-12")
def test_a_bank_statement_of_two_accounts_is_refused_and_nothing_is_booked(
    tenant: Tenant, file: Callable[[str | bytes], Path]
) -> None:
    statements = "".join(
        f"<Stmt><Acct><Id><IBAN>{iban}</IBAN></Id></Acct>{'<Ntry><Amt>1.00</Amt></Ntry>' * entries}</Stmt>"
        for iban, entries in (("DE02120300000000202051", 1), ("DE02500105170137075030", 2))
    )
    for start in ("<?xml version='1.0'?>", ""):
        with pytest.raises(Refusal):
            load(file(f"{start}<Document><BkToCstmrStmt>{statements}</BkToCstmrStmt></Document>"))
    assert not Payout.objects.exists()


@pytest.mark.case("IN-13")
def test_columns_of_equal_values_stay_apart_and_a_name_that_comes_twice_is_reported(
    tenant: Tenant, file: Callable[[str | bytes], Path]
) -> None:
    summary = load(file(f"{HEADER}\n5,5,5,5\n1,2,3,4"))
    kept = [(p.reference, p.amount, p.account, p.beneficiary) for p in Payout.objects.order_by("pk")]
    assert kept == [("5", Decimal(5), "5", "5"), ("1", Decimal(2), "3", "4")] and summary.accepted == 2
    with pytest.raises(Refusal, match="Two columns of the file both mean “amount”"):
        load(file("Trans No,Amount,Supplier ID,Supplier Name,Amount\n6,5,5,5,5"))
    odd = load(file(f"{HEADER},Colour,Colour\n7,5,5,5,red,blue"))
    assert odd.notes.count("column “Colour” is not used") == 2
    assert not Payout.objects.filter(reference="6").exists()


def test_the_products_own_export_is_not_mistaken_for_a_delivery(
    tenant: Tenant, make_person: Callable[..., User], file: Callable[[str | bytes], Path]
) -> None:
    making_files.make_payouts(3)
    request = requesting.request(
        actor=Actor.person(make_person(roles=("analyst",))),
        key="k",
        definition=exports.get("payouts"),
        filters={},
        encoding="utf-8",
    )
    assert request.artifact is not None
    data = storage.get(key=request.artifact.object_key)
    before = list(Payout.objects.order_by("pk").values_list("pk", "amount", "version"))
    assert next(csv.reader(io.StringIO(data.decode())))[0] == "id"
    with pytest.raises(Refusal, match="The file lacks these columns"):
        load(file(data))
    assert list(Payout.objects.order_by("pk").values_list("pk", "amount", "version")) == before
