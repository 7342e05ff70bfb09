"""A restart over a due moment is seen on the schedule's page: what ran late, what was missed, and what is next."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from backoffice.schedules import Gap, Overlap, base, materialising, opening, planning
from backoffice.schedules import Misfire as Policy
from backoffice.schedules.models import Misfire, Occurrence, Schedule
from backoffice.schedules.timing import InvalidTiming, Timing
from backoffice.tenants.models import Tenant, User
from tests.timetable import definition, done, job_of, row, run_job

MONDAY = datetime(2026, 6, 1, 9, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@pytest.fixture(autouse=True)
def _only_what_the_test_defines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base.jobs, "_by_name", {})


@pytest.fixture
def page(
    tenant: Tenant, make_person: Callable[..., User], client_for: Callable[..., Client]
) -> Callable[[Schedule], str]:
    client = client_for(make_person(roles=("supervisor",)))
    return lambda schedule: client.get(f"/t/{tenant.slug}/schedules/{schedule.pk}/").content.decode()


def scheduler(now: datetime) -> list[Occurrence]:
    """Let the scheduler come to the timetable at this moment; run what it opens; return the new occurrences."""
    before = set(Occurrence.objects.values_list("pk", flat=True))
    materialising.materialise(now=now)
    made = Occurrence.objects.exclude(pk__in=before).order_by("scheduled_at")
    made.update(created_at=now)
    opening.open_waiting()
    found = list(made.all())
    for occurrence in found:
        run_job(job_of(occurrence))
    return found


@pytest.mark.case("SC-13")
@pytest.mark.parametrize(
    ("options", "at_restart", "late"),
    [
        ({"misfire": Policy.SKIP, "grace": timedelta(seconds=5), "cap": None}, [], None),
        ({"misfire": Policy.ONCE, "cap": None}, [30], timedelta(seconds=12)),
    ],
)
def test_after_52_seconds_down_skip_catches_nothing_up_and_once_runs_one_that_is_marked_late(
    options: dict[str, Any], at_restart: list[int], late: timedelta | None, page: Callable[[Schedule], str]
) -> None:
    down, up, after = (datetime(2026, 6, 1, 16, m, s, tzinfo=UTC) for m, s in ((43, 50), (44, 42), (44, 45)))
    with definition(every=timedelta(seconds=15), **options):
        schedule = row(cursor=down)
        restarted = scheduler(up)
        assert [one.scheduled_at.second for one in restarted] == at_restart
        assert len(done) == 3 * len(at_restart)
        assert [one.late for one in restarted] == [late] * len(at_restart)
        assert ("missed, 12 seconds late" in page(schedule)) == bool(at_restart)
        (following,) = scheduler(after)
        assert (following.scheduled_at, following.late) == (after, None)
        assert sum(Misfire.objects.values_list("count", flat=True)) == 3 - len(at_restart)


@pytest.mark.case("SC-14")
def test_a_weekly_run_missed_by_five_minutes_runs_once_marked_and_one_beyond_its_grace_is_listed(
    page: Callable[[Schedule], str],
) -> None:
    week = timedelta(days=7)
    with definition(every=None, cron="0 9 * * 1", misfire=Policy.SKIP, grace=10 * MINUTE, cap=None):
        schedule = row(cursor=MONDAY - 5 * MINUTE)
        (caught,) = scheduler(MONDAY + 5 * MINUTE)
        assert (caught.scheduled_at, caught.late) == (MONDAY, 5 * MINUTE)
        schedule.refresh_from_db()
        assert schedule.next_at == MONDAY + week
        shown = page(schedule)
        assert "missed, 5 minutes late" in shown and "Nothing was left out." in shown
        assert scheduler(MONDAY + week + 11 * MINUTE) == []
        shown = page(schedule)
        assert "older than the grace" in shown and "Nothing was left out." not in shown
        assert len(done) == 3 and [m.first_at for m in Misfire.objects.all()] == [MONDAY + week]


def test_a_run_on_time_and_one_by_hand_are_not_late(page: Callable[[Schedule], str]) -> None:
    with definition():
        schedule = row(cursor=MONDAY)
        (on_time,) = scheduler(MONDAY + MINUTE)
        assert on_time.late is None and "missed," not in page(schedule)
        on_time.manual, on_time.created_at = True, MONDAY + 60 * MINUTE
        assert on_time.late is None


@pytest.mark.case("SC-01", "SC-02")
@pytest.mark.parametrize(
    ("zone", "cron", "after", "expected"),
    [
        ("America/Los_Angeles", "0 * * * *", "2026-11-01T07:59:00Z", ["08:00", "09:00", "10:00"]),
        ("America/Los_Angeles", "0 * * * *", "2026-11-01T08:00:00Z", ["09:00", "10:00", "11:00"]),
        ("Europe/Zurich", "0 5 * * *", "2025-03-29T04:00:00Z", ["03:00"]),
        ("Europe/Zurich", "0 5 * * *", "2025-10-25T03:00:00Z", ["04:00"]),
        (
            "Australia/Lord_Howe",
            "0 * * * *",
            "2026-04-04T14:00:00Z",
            ["15:30", "16:30"],
        ),  # the clock moves by 30 minutes
        ("Africa/Casablanca", "30 2 * * *", "2026-02-14T01:30:00Z", ["01:30", "02:30"]),  # back for Ramadan
    ],
)
def test_hours_and_days_keep_to_the_zones_clock_across_its_changes(
    zone: str, cron: str, after: str, expected: list[str]
) -> None:
    timing = Timing(cron=cron, zone=zone, gap=Gap.SHIFT, overlap=Overlap.BOTH)
    found = planning.upcoming(timing, after=datetime.fromisoformat(after), count=len(expected))
    assert [f"{at:%H:%M}" for at in found] == expected


@pytest.mark.case("SC-08", "SC-10")
@pytest.mark.parametrize(
    ("cron", "after", "days"),
    [
        ("0 0 8-9 * 0#2", "2020-12-31T23:59:00Z", "2021: 01-08 01-09 01-10 02-08 02-09 02-14 03-08"),
        ("0 0 L * *", "2015-09-30T00:00:00Z", "2015: 10-31 11-30 12-31 01-31 02-29 03-31"),
        ("0 0 L 2 *", "2023-01-01T00:00:00Z", "2023: 02-28 02-29 02-28"),
        ("0 0 * * 5L", "2026-01-01T00:00:00Z", "2026: 01-30 02-27 03-27"),
        ("0 0 31 * *", "2026-01-01T00:00:00Z", "2026: 01-31 03-31 05-31"),
        ("0 0 29 2 *", "2096-03-01T00:00:00Z", "2104: 02-29"),
    ],
)
def test_days_of_the_month_and_of_the_week_mean_what_they_say(cron: str, after: str, days: str) -> None:
    year, _, wanted = days.partition(": ")
    found = planning.upcoming(Timing(cron=cron), after=datetime.fromisoformat(after), count=len(wanted.split()))
    assert [f"{at:%m-%d}" for at in found] == wanted.split() and found[0].year == int(year)


@pytest.mark.case("SC-11")
@pytest.mark.parametrize(
    ("cron", "field"),
    [
        ("0 1 0/10 * *", "day-of-month"),
        ("0 1 0 * *", "day-of-month"),
        ("0 1 32 * *", "day-of-month"),
        ("60 1 * * *", "minute"),
        ("0 24 * * *", "hour"),
        ("0 0 * 0 *", "month"),
        ("0 0 * 13 *", "month"),
        ("0 0 * * 8", "day-of-week"),
        ("*/0 * * * *", "minute"),
        ("0 0 * * 0#6", "day-of-week"),
        ("0 0 ３ * *", "is not readable"),
        ("0 0 * * * * *", "is not readable"),
        ("", "is not readable"),
        ("=cmd", "is not readable"),
        ("0 0 1 1 \x00", "day-of-week|not readable"),
        ("-0 0 * * *", "minute"),
        ("1e3 * * * *", "minute"),
    ],
)
def test_a_field_that_means_nothing_is_refused_and_named(cron: str, field: str) -> None:
    with pytest.raises(InvalidTiming, match=field):
        planning.check(Timing(cron=cron))
