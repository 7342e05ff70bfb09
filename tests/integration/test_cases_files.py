"""What a file must never do to what it holds: turn, round, cut, run or leak it. All through the pages."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from backoffice import storage
from backoffice.audit.models import AuditEvent
from backoffice.livesettings.models import SettingValue
from backoffice.storage.models import Artifact
from backoffice.tenants import scope
from backoffice.tenants.models import Membership, Tenant, User
from exports import providing
from exports.encoders import escaping
from exports.models import ExportRequest
from queues.ingest import decoding
from queues.models import Payout
from tests.making_books import read_book
from tests.making_files import fetch, make_payouts, read_csv, work_off

HOME = "/t/acme/exports/"
NEW = f"{HOME}new/payouts/"
NOTES = ["-2+3+cmd|' /C calc'!A1", "=1+1", "@x", "-", "+44 20 7946 0000", "=A1=B1", "a=b"]


@pytest.fixture
def person(make_person: Callable[..., User]) -> User:
    return make_person(roles=("analyst",))


@pytest.fixture
def analyst(person: User, client_for: Callable[..., Client]) -> Client:
    return client_for(person)


def setting(name: str, value: int) -> None:
    SettingValue.objects.update_or_create(tenant=scope.current(), name=name, defaults={"value": value})


def ask(client: Client, encoding: str, **fields: str) -> ExportRequest:
    before = set(ExportRequest.objects.values_list("pk", flat=True))
    answer = client.post(NEW, {"key": f"{encoding}{len(before)}", "encoding": encoding, **fields})
    assert answer.status_code == 303, answer.content.decode()
    return ExportRequest.objects.exclude(pk__in=before).get()


def download(client: Client, request: ExportRequest) -> bytes:
    request.refresh_from_db()
    assert request.artifact is not None, request.failure
    link = client.post(f"{HOME}{request.pk}/download/", {"key": f"d{request.pk}"})
    assert link.status_code == 303
    data = fetch(link["Location"])
    assert len(data) == request.artifact.bytes
    return data


def manifest(request: ExportRequest) -> dict[str, Any]:
    assert request.artifact is not None
    return dict(request.artifact.manifest)


@pytest.mark.case("EC-01")
def test_notes_that_lead_a_formula_are_made_safe_listed_and_restored_while_numbers_stay_bare(analyst: Client) -> None:
    make_payouts(len(NOTES), texts=NOTES, amount=Decimal("-75.63"), state=Payout.State.CREDIT)
    request = ask(analyst, "utf-8")
    data = download(analyst, request)
    rows = read_csv(data, encoding="utf-8")
    assert data.count(b",-75.63,") == len(NOTES) and {row["amount"] for row in rows} == {"-75.63"}
    assert [row["description"] for row in rows] == ["'" + note for note in NOTES[:-1]] + ["a=b"]
    assert manifest(request)["escaped"] == {"description": len(NOTES) - 1}
    assert [escaping.restore(row["description"]) for row in rows] == NOTES


@pytest.mark.case("EX-07")
def test_the_same_notes_are_bare_text_in_a_workbook(analyst: Client) -> None:
    make_payouts(len(NOTES), texts=NOTES)
    (sheet,) = read_book(download(analyst, ask(analyst, "xlsx")))
    place = sheet.rows[0].index("description")
    assert [row[place] for row in sheet.rows[1:]] == NOTES
    assert {row[place] for row in sheet.types[1:]} == {"inlineStr"}
    masked = [str(row["account"]) for row in sheet.records()]
    assert masked == [f"••••{payout.account[-4:]}" for payout in Payout.objects.order_by("pk")]


@pytest.mark.case("EC-04")
def test_line_breaks_and_quotes_leave_every_row_whole(analyst: Client) -> None:
    cells = ["value1\r", "value2", "a\n b", "a\r\nb", 'say "x"', "\r", "\n", '"', "a,b"]
    make_payouts(len(cells), beneficiary="x", texts=cells)
    data = download(analyst, ask(analyst, "utf-8"))
    rows = list(csv.reader(io.StringIO(data.decode(), newline="")))
    assert len(rows) == len(cells) + 1 and {len(row) for row in rows} == {10}
    assert [escaping.restore(row[7]) for row in rows[1:]] == cells
    (sheet,) = read_book(download(analyst, ask(analyst, "xlsx")))
    assert [row[7] for row in sheet.rows[1:]] == cells


@pytest.mark.case("EC-06")
def test_the_file_for_a_spreadsheet_begins_with_its_mark_and_both_come_back(analyst: Client, tmp_path: Path) -> None:
    names = ["张三", "Łódź", "O’Brien", "שלום \u202e", "😀"]
    for name in names:
        make_payouts(1, beneficiary=name)
    for encoding, mark in (("utf-8-sig", b"\xef\xbb\xbf"), ("utf-8", b"id")):
        data = download(analyst, ask(analyst, encoding))
        assert data.startswith(mark) and data.count(b"\xef\xbb\xbf") == (encoding == "utf-8-sig")
        path = tmp_path / f"{encoding}.csv"
        path.write_bytes(data)
        found = decoding.encoding_of(path)
        rows = [cells for _f, _l, cells in decoding.rows(path, encoding=found, progress=lambda done, total: None)]
        assert rows[0] is not None and rows[0][0] == "id"
        assert [cells[3] for cells in rows[1:] if cells] == names


@pytest.mark.case("EC-07", "EX-06")
def test_amounts_keep_every_digit_in_every_format(analyst: Client) -> None:
    amounts = ["0.001", "0.006", "12.345", "1000", "123456789012345.6789", "0.0001"]
    for amount in amounts:
        make_payouts(1, amount=Decimal(amount), currency="KWD")
    rows = read_csv(download(analyst, ask(analyst, "utf-8")), encoding="utf-8")
    assert [Decimal(row["amount"]) for row in rows] == [Decimal(amount) for amount in amounts]
    assert not [row["amount"] for row in rows if "e" in row["amount"].lower()]
    request = ask(analyst, "xlsx")
    (sheet,) = read_book(download(analyst, request))
    place = sheet.rows[0].index("amount")
    assert [Decimal(str(row[place])) for row in sheet.rows[1:]] == [Decimal(amount) for amount in amounts]
    assert [row[place] for row in sheet.types[1:]] == ["n", "n", "n", "n", "inlineStr", "n"]
    assert manifest(request)["numbers_as_text"] == {"amount": 1}


@pytest.mark.case("RP-02", "RP-03", "EX-01")
@pytest.mark.parametrize(
    ("zone", "instant", "wall", "offset"),
    [
        ("Asia/Bangkok", "2020-11-03T17:00:00Z", "2020-11-04T00:00:00", "+07:00"),
        ("America/Denver", "2024-04-16T06:00:00Z", "2024-04-16T00:00:00", "-06:00"),
        ("Europe/Berlin", "2024-11-05T10:00:00Z", "2024-11-05T11:00:00", "+01:00"),
        ("Asia/Kathmandu", "2024-01-01T00:00:00Z", "2024-01-01T05:45:00", "+05:45"),
    ],
)
def test_an_instant_is_the_same_wall_time_on_screen_in_csv_and_in_a_workbook(
    zone: str, instant: str, wall: str, offset: str, tenant: Tenant, analyst: Client
) -> None:
    tenant.time_zone = zone
    tenant.save()
    make_payouts(1, opened_at=datetime.fromisoformat(instant))
    iso = f"{wall}.000000{offset}"
    assert f"<td>{iso}</td>" in analyst.get(NEW).content.decode()
    rows = read_csv(download(analyst, ask(analyst, "utf-8")), encoding="utf-8")
    assert rows[0]["opened_at"] == iso
    (sheet,) = read_book(download(analyst, ask(analyst, "xlsx")))
    assert sheet.records()[0][f"opened_at ({zone})"] == datetime.fromisoformat(wall)


@pytest.mark.case("EC-10")
@pytest.mark.parametrize("encoding", ["utf-8", "xlsx"])
@pytest.mark.parametrize("budget", [0, 5_000])
def test_a_source_that_breaks_at_row_700_offers_nothing_and_says_where(
    encoding: str, budget: int, analyst: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_payouts(1_000)
    setting("exports.payouts.request_budget", budget)
    whole = providing._values if encoding == "xlsx" else providing._copy

    def breaks_in_values(*arguments: Any) -> Any:
        for at, row in enumerate(whole(*arguments)):  # type: ignore[arg-type]  # one of two shapes
            if at == 700:
                raise ConnectionResetError("the source is gone")
            yield row

    def breaks_in_copy(session: Any, page: Any, columns: Any, *, spool: Any) -> None:
        class Broken:
            def copy_rows(self, *arguments: Any) -> Any:
                yield from list(session.copy_rows(*arguments))[:700]
                raise ConnectionResetError("the source is gone")

        whole(Broken(), page, columns, spool=spool)  # type: ignore[call-arg, arg-type]  # one of two shapes

    name = "_values" if encoding == "xlsx" else "_copy"
    monkeypatch.setattr(providing, name, breaks_in_values if encoding == "xlsx" else breaks_in_copy)
    answer = analyst.post(NEW, {"key": "k", "encoding": encoding})
    request = ExportRequest.objects.get()
    for _attempt in range(3 if request.job else 0):
        assert request.job is not None
        type(request.job).objects.filter(pk=request.job.pk).update(available_at="2020-01-01T00:00:00Z")
        work_off(request.job)
    assert answer.status_code == 303 and (request.job is None) == (budget > 0)
    request = ExportRequest.objects.get()
    shown = analyst.get(f"{HOME}{request.pk}/").content.decode()
    assert request.state == "failed" and "failed" in shown and "It failed at row 700, and nothing was stored." in shown
    assert "source is gone" not in shown and "Download" not in shown
    assert storage.list_keys(prefix=storage.folder(area="exports", request_id=request.pk)) == []
    assert not Artifact.objects.exists()
    assert analyst.post(f"{HOME}{request.pk}/download/", {"key": "d"}).status_code == 409


@pytest.mark.case("EX-09")
def test_120_000_rows_are_120_000_rows_in_every_format(analyst: Client, superuser: Any) -> None:
    make_payouts(1)
    names = [f.column for f in Payout._meta.local_concrete_fields if f.column not in {"id", "reference"}]
    columns = ", ".join(f'"{name}"' for name in names)
    superuser.execute(
        f"INSERT INTO queues_payout (reference, {columns}) SELECT 'R' || n, {columns}"
        " FROM queues_payout, generate_series(2, 120000) AS n"
    )
    superuser.execute("ANALYZE queues_payout")
    requests = {encoding: ask(analyst, encoding) for encoding in ("utf-8", "xlsx")}
    for request in requests.values():
        assert request.job is not None
        assert work_off(request.job).state == "succeeded", request.job.safe_reason
    lines = download(analyst, requests["utf-8"]).decode().splitlines()
    (sheet,) = read_book(download(analyst, requests["xlsx"]))
    assert len(lines) - 1 == len(sheet.rows) - 1 == 120_000
    assert [int(line.split(",")[0]) for line in lines[1:]] == [int(row[0]) for row in sheet.rows[1:]]
    assert {manifest(ExportRequest.objects.get(pk=r.pk))["rows"] for r in requests.values()} == {120_000}


@pytest.mark.case("TA-07")
def test_a_reader_of_12_rows_gets_12_in_every_format_and_a_worker_none_once_access_is_lost(
    analyst: Client, person: User, tenant: Tenant, other_tenant: Tenant
) -> None:
    make_payouts(12)
    with scope.open(other_tenant):
        make_payouts(28, reference="THEIRS")
    assert "<strong>12</strong> rows" in analyst.get(NEW).content.decode()
    setting("exports.payouts.request_budget", 0)
    for encoding in ("utf-8", "utf-8-sig", "xlsx"):
        request = ask(analyst, encoding)
        assert request.job is not None
        work_off(request.job)
        data = download(analyst, request)
        if encoding == "xlsx":
            (sheet,) = read_book(data)
            found = [str(row["reference"]) for row in sheet.records()]
        else:
            found = [row["reference"] for row in read_csv(data, encoding=encoding)]
        assert len(found) == 12 and "THEIRS" not in found
    late = ask(analyst, "xlsx")
    Membership.objects.filter(user=person).update(roles=["staff"])
    assert late.job is not None
    job = work_off(late.job)
    assert (job.state, job.code) == ("failed", "permission-lost")
    assert Artifact.objects.count() == 3


@pytest.mark.case("TA-03")
@pytest.mark.parametrize("roles", [("staff",), ("finance",), ("auditor",), ("supervisor",)])
def test_a_member_who_types_the_exports_address_gets_403_no_file_and_an_entry(
    roles: tuple[str, ...], tenant: Tenant, make_person: Callable[..., User], client_for: Callable[..., Client]
) -> None:
    make_payouts(3)
    client = client_for(make_person(roles=roles))
    for method in ("get", "post", "put", "head"):
        assert getattr(client, method)(NEW, {"key": "k", "encoding": "xlsx"}).status_code == 403
    assert not ExportRequest.objects.exists() and not Artifact.objects.exists()
    refused = AuditEvent.objects.filter(act="page.open", outcome="refused", code="not-permitted")
    assert {event.data["path"] for event in refused} == {NEW} and refused.count() == 4
