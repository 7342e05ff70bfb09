"""Working time against a slow model that looks at every minute."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queues import working_time
from queues.working_time import Calendar

MINUTE = timedelta(minutes=1)
ZONES = {
    # Around the clocks' moves: a gap and a fold in spring and autumn, both at midnight, none but an odd offset.
    "Europe/Amsterdam": (datetime(2026, 3, 27, tzinfo=UTC), datetime(2026, 10, 23, tzinfo=UTC)),
    "America/Sao_Paulo": (datetime(2016, 2, 19, tzinfo=UTC), datetime(2016, 10, 14, tzinfo=UTC)),
    "Asia/Kathmandu": (datetime(2026, 5, 1, tzinfo=UTC), datetime(2025, 12, 30, tzinfo=UTC)),
}
ALWAYS = (((0, 1440),),) * 7


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type, misc]  # year, month, day, hour, minute


@st.composite
def days(draw: st.DrawFn) -> tuple[tuple[int, int], ...]:
    """Draw up to three ranges of a day, apart, to the minute; those that end at midnight among them."""
    edges = sorted(draw(st.sets(st.integers(0, 1440) | st.sampled_from([0, 60, 120, 180, 1440]), max_size=6)))
    return tuple(zip(edges[::2], edges[1::2], strict=False))


@st.composite
def situations(draw: st.DrawFn) -> tuple[Calendar, datetime]:
    zone = draw(st.sampled_from(sorted(ZONES)))
    around = draw(st.sampled_from(ZONES[zone]))
    start = around + draw(st.integers(0, 4 * 24 * 60)) * MINUTE
    holidays = draw(st.sets(st.integers(0, 6), max_size=2))
    local = around.astimezone(ZoneInfo(zone)).date()
    off = frozenset(local + timedelta(days=days) for days in holidays)
    return Calendar(zone, tuple(draw(days()) for _day in range(7)), off), start


def works(calendar: Calendar, instant: datetime) -> bool:
    """The model: what the wall clock says of this minute."""
    local = instant.astimezone(ZoneInfo(calendar.zone))
    minute = local.hour * 60 + local.minute
    ranges = calendar.hours[local.weekday()]
    return local.date() not in calendar.holidays and any(first <= minute < last for first, last in ranges)


@settings(max_examples=60, deadline=None)
@given(situations(), st.integers(1, 40 * 60), st.lists(st.tuples(st.integers(-60, 4000), st.integers(0, 600))))
def test_the_due_instant_is_the_one_that_counting_minutes_finds(
    situation: tuple[Calendar, datetime], minutes: int, paused: list[tuple[int, int]]
) -> None:
    calendar, start = situation
    waits = [(start + begun * MINUTE, start + (begun + length) * MINUTE) for begun, length in paused]
    at, left = start, minutes
    for _minute in range(8 * 24 * 60):
        if works(calendar, at) and not any(first <= at < last for first, last in waits):
            left -= 1
        at += MINUTE
        if not left:
            break
    found = working_time.add(calendar, start, minutes * MINUTE, without=waits)
    if left:
        assert found is None or found > at
    else:
        assert found == at


@settings(max_examples=40, deadline=None)
@given(situations(), st.integers(0, 3 * 24 * 60))
def test_the_time_between_is_the_minutes_that_work(situation: tuple[Calendar, datetime], minutes: int) -> None:
    calendar, start = situation
    counted = sum(works(calendar, start + number * MINUTE) for number in range(minutes))
    assert working_time.between(calendar, start, start + minutes * MINUTE) == counted * MINUTE


@settings(max_examples=40, deadline=None)
@given(situations(), st.integers(1, 3_000_000_000), st.integers(0, 59_999_999))
def test_the_length_lies_exactly_between_to_the_microsecond(
    situation: tuple[Calendar, datetime], micros: int, into_minute: int
) -> None:
    calendar, start = situation
    start += timedelta(microseconds=into_minute)
    found = working_time.add(calendar, start, timedelta(microseconds=micros))
    if found is not None:
        assert working_time.between(calendar, start, found) == timedelta(microseconds=micros)
        before = found - timedelta(microseconds=1)
        assert working_time.between(calendar, start, before) == timedelta(microseconds=micros - 1)


def test_a_friday_evening_goes_on_on_monday() -> None:
    office = working_time.weekdays("Europe/Amsterdam")
    friday = datetime(2026, 11, 27, 16, 0, tzinfo=ZoneInfo("Europe/Amsterdam"))
    assert working_time.add(office, friday, timedelta(hours=4)) == utc(2026, 11, 30, 11, 0)
    # What ends with the day ends then, and not on the next morning.
    assert working_time.add(office, friday, timedelta(hours=1)) == utc(2026, 11, 27, 16, 0)


def test_a_holiday_does_not_count() -> None:
    office = working_time.weekdays("Asia/Kathmandu")
    off = Calendar(office.zone, office.hours, frozenset({date(2026, 5, 1)}))
    thursday = datetime(2026, 4, 30, 16, 30, tzinfo=ZoneInfo("Asia/Kathmandu"))
    assert working_time.add(off, thursday, timedelta(hours=1)) == utc(2026, 5, 4, 3, 45)


def test_an_hour_that_the_clock_repeats_counts_twice_and_one_it_skips_not_at_all() -> None:
    nights = Calendar("Europe/Amsterdam", (((60, 240),),) * 7)
    fold = utc(2026, 10, 24, 22, 0)
    assert working_time.between(nights, fold, fold + timedelta(hours=12)) == timedelta(hours=4)
    gap = utc(2026, 3, 28, 22, 0)
    assert working_time.between(nights, gap, gap + timedelta(hours=12)) == timedelta(hours=2)


def test_a_midnight_that_does_not_exist_is_passed_over() -> None:
    always = Calendar("America/Sao_Paulo", ALWAYS)
    start = utc(2016, 10, 15, 12, 0)
    assert working_time.add(always, start, timedelta(hours=30)) == start + timedelta(hours=30)
    # Only that Sunday works, and it has 23 hours: the 24th is the next Sunday's first.
    sundays = Calendar("America/Sao_Paulo", ((),) * 6 + (((0, 1440),),))
    assert working_time.add(sundays, start, timedelta(hours=24)) == utc(2016, 10, 23, 3, 0)


@pytest.mark.parametrize("start", [utc(1, 1, 1), utc(1899, 12, 31), utc(2201, 1, 1), utc(9999, 12, 31, 23, 59)])
def test_dates_far_away_have_no_due_time(start: datetime) -> None:
    assert working_time.add(working_time.weekdays("Europe/Amsterdam"), start, timedelta(hours=1)) is None


def test_a_week_without_work_has_no_due_time_and_no_loop() -> None:
    empty = Calendar("Europe/Amsterdam", ((),) * 7)
    assert empty.empty
    assert working_time.add(empty, utc(2026, 1, 1), timedelta(hours=1)) is None
    assert working_time.between(empty, utc(1900, 1, 1), utc(2199, 1, 1)) == timedelta(0)


def test_work_of_a_minute_a_week_reaches_no_further_than_the_horizon() -> None:
    mean = Calendar("Europe/Amsterdam", (((0, 1),), *((),) * 6))
    assert working_time.add(mean, utc(2026, 1, 1), timedelta(hours=40)) is None
    assert working_time.add(mean, utc(2026, 1, 1), timedelta(minutes=52 * 5)) is not None


def test_the_last_instant_of_a_year_and_the_first_of_the_next_are_one_stretch() -> None:
    always = Calendar("UTC", ALWAYS)
    assert always.always
    start = utc(2025, 12, 31, 23, 30)
    assert working_time.add(always, start, timedelta(minutes=30)) == utc(2026, 1, 1)
    assert working_time.add(always, start, timedelta(hours=1)) == utc(2026, 1, 1, 0, 30)
    assert working_time.add(always, start, timedelta(days=731)) == start + timedelta(days=731)
