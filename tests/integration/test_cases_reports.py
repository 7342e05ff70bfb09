"""A report's dates and times are the same on its page, in CSV and in a workbook, and its parts add up to its whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.test import Client

from backoffice.tenants.models import Membership, Tenant, User
from exports.columns import Column, Kind
from exports.filters import Days, start_of
from reports import base, providing
from reports.definitions.payout_ageing import PayoutAgeing
from reports.models import ReportRequest
from tests.making_books import Sheet, read_book
from tests.making_files import fetch, make_payouts, read_csv, work_off

HOME = "/t/acme/reports/"
ASKED = {"as_of": "2026-03-31", "opened_from": "2016-01-01", "opened_to": "2025-12-31"}
PROBE = """
SELECT reference,
       (opened_at AT TIME ZONE %(zone)s)::date AS day,
       opened_at,
       opened_at AT TIME ZONE %(zone)s AS wall,
       amount,
       currency
  FROM queues_payout
 WHERE tenant_id = %(tenant)s AND opened_at >= %(opened_from)s AND opened_at < %(opened_before)s
 ORDER BY id
 LIMIT %(row_limit)s
"""


class Probe(PayoutAgeing):
    """Each payout with its day, its instant and its wall time."""

    name = "probe"
    sql = "probe.sql"
    columns = (
        Column("reference", Kind.TEXT),
        Column("day", Kind.DATE),
        Column("opened_at", Kind.INSTANT),
        Column("wall", Kind.WALL_TIME),
        Column("amount", Kind.DECIMAL),
        Column("currency", Kind.TEXT),
    )
    plot = None


@pytest.fixture
def probe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "probe.sql").write_text(PROBE)
    monkeypatch.setattr(providing, "FOLDER", tmp_path)
    base.reports.register(Probe)
    yield
    base.reports._by_name.pop("probe")


@pytest.fixture
def person(make_person: Callable[..., User]) -> User:
    return make_person(roles=("analyst",))


@pytest.fixture
def analyst(person: User, client_for: Callable[..., Client]) -> Client:
    return client_for(person)


def ask(client: Client, encoding: str, *, report: str = "probe", **changed: str) -> ReportRequest:
    answer = client.post(
        f"{HOME}new/{report}/", {**ASKED, **changed, "key": f"{encoding}{changed}", "encoding": encoding}
    )
    assert answer.status_code == 303, answer.content.decode()
    return ReportRequest.objects.get(pk=int(answer["Location"].split("/")[-2]))


def run(client: Client, encoding: str, **changed: str) -> tuple[str, bytes]:
    """Ask, work it off; return the page and the file."""
    request = ask(client, encoding, **changed)
    assert request.job is not None
    assert work_off(request.job).state == "succeeded", request.job.safe_reason
    link = client.post(f"{HOME}{request.pk}/download/", {"key": f"d{request.pk}"})
    assert link.status_code == 303
    return client.get(f"{HOME}{request.pk}/").content.decode(), fetch(link["Location"])


def book(client: Client, **changed: str) -> Sheet:
    (sheet,) = read_book(run(client, "xlsx", **changed)[1])
    return sheet


@pytest.mark.case("RP-01", "RP-02", "RP-03", "RP-07")
@pytest.mark.usefixtures("probe")
@pytest.mark.parametrize(
    ("zone", "instant", "wall", "offset"),
    [
        ("Europe/Sofia", "2021-01-24T22:00:00Z", "2021-01-25 00:00:00", "+02:00"),
        ("Asia/Bangkok", "2020-11-03T17:00:00Z", "2020-11-04 00:00:00", "+07:00"),
        ("America/Denver", "2024-04-16T06:00:00Z", "2024-04-16 00:00:00", "-06:00"),
        ("America/New_York", "2021-02-17T23:57:53Z", "2021-02-17 18:57:53", "-05:00"),
        ("America/New_York", "2021-02-18T00:01:33Z", "2021-02-17 19:01:33", "-05:00"),
        ("America/Sao_Paulo", "2016-10-16T17:00:00Z", "2016-10-16 15:00:00", "-02:00"),
    ],
)
def test_a_day_an_instant_and_a_wall_time_are_one_in_page_csv_and_workbook(
    zone: str, instant: str, wall: str, offset: str, tenant: Tenant, analyst: Client
) -> None:
    tenant.time_zone = zone
    tenant.save()
    make_payouts(1, opened_at=datetime.fromisoformat(instant))
    page, data = run(analyst, "utf-8")
    assert f"<td>{wall[:10]}</td>" in page and f"<td>{wall} ({offset})</td>" in page
    (row,) = read_csv(data, encoding="utf-8")
    iso = f"{wall.replace(' ', 'T')}.000000"
    assert (row["day"], row["opened_at"], row["wall"]) == (wall[:10], iso + offset, iso)
    (found,) = book(analyst).records()
    at = datetime.fromisoformat(wall)
    assert (found["day"], found[f"opened_at ({zone})"], found["wall"]) == (at.date(), at, at)
    assert type(found["day"]) is date


@pytest.mark.usefixtures("probe")
def test_of_a_repeated_hour_the_page_and_the_csv_tell_both_times_apart(tenant: Tenant, analyst: Client) -> None:
    tenant.time_zone = "America/New_York"
    tenant.save()
    for instant in ("2021-11-07T05:30:00Z", "2021-11-07T06:30:00Z"):
        make_payouts(1, opened_at=datetime.fromisoformat(instant))
    page, data = run(analyst, "utf-8")
    assert "2021-11-07 01:30:00 (-04:00)" in page and "2021-11-07 01:30:00 (-05:00)" in page
    offsets = [row["opened_at"][-6:] for row in read_csv(data, encoding="utf-8")]
    assert offsets == ["-04:00", "-05:00"]


@pytest.mark.case("AU-07", "AU-08")
@pytest.mark.usefixtures("probe")
@pytest.mark.parametrize(
    ("zone", "first", "last", "begins", "ends", "inside", "outside"),
    [
        (
            *("Europe/Amsterdam", "2019-10-01", "2019-10-31", "2019-09-30T22:00Z", "2019-10-31T23:00Z"),
            *("2019-10-31T20:00+01:00", "2019-11-01T00:00+01:00"),
        ),
        (
            *("America/Sao_Paulo", "2016-10-16", "2016-10-16", "2016-10-16T03:00Z", "2016-10-17T02:00Z"),
            *("2016-10-16T15:00-02:00", "2016-10-15T23:59:59-03:00"),
        ),
        (
            *("America/Sao_Paulo", "2018-02-17", "2018-02-17", "2018-02-17T02:00Z", "2018-02-18T03:00Z"),
            *("2018-02-17T23:30:00-03:00", "2018-02-18T00:00:00-03:00"),
        ),
        (
            *("America/Havana", "2020-11-01", "2020-11-01", "2020-11-01T04:00Z", "2020-11-02T05:00Z"),
            *("2020-11-01T00:30:00-05:00", "2020-10-31T23:59:59-04:00"),
        ),
    ],
)
def test_days_begin_and_end_where_the_zones_calendar_does(
    zone: str,
    first: str,
    last: str,
    begins: str,
    ends: str,
    inside: str,
    outside: str,
    tenant: Tenant,
    analyst: Client,
) -> None:
    tenant.time_zone = zone
    tenant.save()
    place = ZoneInfo(zone)
    assert start_of(date.fromisoformat(first), zone=place) == datetime.fromisoformat(begins)
    assert start_of(date.fromisoformat(last) + timedelta(days=1), zone=place) == datetime.fromisoformat(ends)
    make_payouts(1, opened_at=datetime.fromisoformat(inside), reference="inside")
    make_payouts(1, opened_at=datetime.fromisoformat(outside), reference="outside")
    exported = analyst.get("/t/acme/exports/new/payouts/", {"opened_from": first, "opened_to": last})
    assert exported.status_code == 200 and "inside" in (shown := exported.content.decode()) and "outside" not in shown
    rows = read_csv(run(analyst, "utf-8", opened_from=first, opened_to=last)[1], encoding="utf-8")
    assert [row["reference"] for row in rows] == ["inside"] and rows[0]["day"][:7] == first[:7]


def test_the_first_and_the_last_day_of_the_calendar_make_no_page_fall_over(tenant: Tenant, analyst: Client) -> None:
    tenant.time_zone = "Pacific/Kiritimati"
    tenant.save()
    for day in ("0001-01-01", "1900-01-01", "2200-12-31", "9999-12-31", "2026-02-30", "-2026-01-01", "２０２６-01-01"):
        for fields in ({"opened_from": day}, {"opened_to": day}):
            assert analyst.get("/t/acme/exports/new/payouts/", fields).status_code == 200
            asked = {**ASKED, **fields, "key": "k", "encoding": "xlsx"}
            assert analyst.post(f"{HOME}new/payout-ageing/", asked).status_code in {303, 409, 422}
    assert Days("opened_at", "x").condition({}, zone=ZoneInfo("UTC")) == Days("x", "x").condition(
        {}, zone=ZoneInfo("UTC")
    )


def test_page_csv_and_workbook_hold_the_same_totals_and_no_currency_is_added_to_another(
    tenant: Tenant, analyst: Client
) -> None:
    amounts = {"EUR": "0.10", "JPY": "9899", "KWD": "1.234"}
    for currency, amount in amounts.items():
        make_payouts(
            3, currency=currency, amount=Decimal(amount), opened_at=datetime.fromisoformat("2025-12-01T00:00Z")
        )
    page, data = run(analyst, "utf-8", report="payout-ageing")
    rows = read_csv(data, encoding="utf-8")
    sheet = book(analyst, report="payout-ageing")
    totals = {row["currency"]: Decimal(row["total"]) for row in rows}
    assert totals == {currency: Decimal(amount) * 3 for currency, amount in amounts.items()}
    assert {row["currency"]: row["total"] for row in sheet.records()} == totals
    assert all(words in page for words in ("EUR 0.30", "JPY 29,697", "KWD 3.702"))
    assert sum(int(row["payouts"]) for row in rows) == 9 == sum(row["payouts"] for row in sheet.records())


def test_an_empty_report_is_its_header_in_every_format_and_says_so(tenant: Tenant, analyst: Client) -> None:
    page, data = run(analyst, "utf-8", report="payout-ageing")
    names = [column.name for column in PayoutAgeing.columns]
    assert "Nothing matches." in page and data.decode().splitlines() == [",".join(names)]
    assert book(analyst, report="payout-ageing").rows == [names]


@pytest.mark.case("TA-07")
@pytest.mark.parametrize("encoding", ["utf-8", "xlsx"])
def test_a_run_whose_owner_lost_access_fails_and_leaves_no_file(
    encoding: str, tenant: Tenant, analyst: Client, person: User
) -> None:
    make_payouts(3)
    request = ask(analyst, encoding, report="payout-ageing")
    Membership.objects.filter(user=person).update(active=False)
    assert request.job is not None
    job = work_off(request.job)
    assert (job.state, job.code) == ("failed", "permission-lost")
    request.refresh_from_db()
    assert request.artifact is None
    left: Any = analyst.get(f"{HOME}{request.pk}/")
    assert left.status_code in {403, 404}
