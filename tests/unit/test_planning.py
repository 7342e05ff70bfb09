"""Planning is pure, strictly increasing and the same from every restart point."""

from __future__ import annotations

import json
import random
import time
import tomllib
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from backoffice.schedules import planning, zones
from backoffice.schedules.timing import Gap, InvalidTiming, Overlap, Timing

TRANSITIONS = Path(__file__).resolve().parents[3] / "shared" / "data" / "timezones"
POLICIES = list(product(Gap, Overlap))
MINUTE = timedelta(minutes=1)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def cron(expression: str, zone: str, gap: Gap = Gap.SKIP, overlap: Overlap = Overlap.FIRST) -> Timing:
    return Timing(cron=expression, zone=zone, gap=gap, overlap=overlap)


def facts(name: str) -> list[dict[str, Any]]:
    file = TRANSITIONS / name
    if not file.exists():
        pytest.skip("the folder ../shared/data is not here")
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


@pytest.mark.proves("jobs#define-business-local-clock-behavior")
def test_a_skipped_wall_time_follows_the_gap_policy() -> None:
    before, after = utc("2026-03-28T12:00+01:00"), utc("2026-03-29T12:00+02:00")

    def fires(gap: Gap, expression: str = "15,45 2 * * *") -> list[datetime]:
        return list(planning.due(cron(expression, "Europe/Berlin", gap), cursor=before, now=after))

    assert fires(Gap.SKIP) == []
    assert fires(Gap.SHIFT) == [utc("2026-03-29T03:15+02:00"), utc("2026-03-29T03:45+02:00")]
    assert fires(Gap.GAP_END) == [utc("2026-03-29T03:00+02:00")]
    # What is moved takes its place among the rest, and two that meet are one.
    assert fires(Gap.SHIFT, "30 2,3 * * *") == [utc("2026-03-29T03:30+02:00")]
    assert fires(Gap.SHIFT, "45 2,3 * * *")[:1] == [utc("2026-03-29T03:45+02:00")]


@pytest.mark.proves("jobs#define-business-local-clock-behavior")
def test_a_repeated_wall_time_follows_the_overlap_policy() -> None:
    before, after = utc("2026-10-24T12:00+02:00"), utc("2026-10-25T12:00+01:00")

    def fires(overlap: Overlap) -> list[datetime]:
        timing = cron("30 2 * * *", "Europe/Berlin", Gap.SKIP, overlap)
        return list(planning.due(timing, cursor=before, now=after))

    first, second = utc("2026-10-25T02:30+02:00"), utc("2026-10-25T02:30+01:00")
    assert fires(Overlap.FIRST) == [first]
    assert fires(Overlap.SECOND) == [second]
    assert fires(Overlap.BOTH) == [first, second]


@pytest.mark.case("SC-01")
@pytest.mark.proves("jobs#test-time-transitions")
def test_an_hourly_job_misses_no_hour_when_the_clock_falls_back() -> None:
    timing = cron("0 * * * *", "America/Los_Angeles", Gap.SKIP, Overlap.BOTH)
    due = planning.due(timing, cursor=utc("2026-11-01T07:00Z"), now=utc("2026-11-01T10:00Z"))
    assert list(due) == [utc(f"2026-11-01T{hour}:00Z") for hour in ("08", "09", "10")]


@pytest.mark.case("SC-02")
@pytest.mark.proves("jobs#test-time-transitions")
def test_a_daily_job_keeps_its_hour_on_the_day_summer_time_starts() -> None:
    timing = cron("0 5 * * *", "Europe/Zurich")
    assert planning.upcoming(timing, after=utc("2025-03-29T05:00+01:00"), count=1) == [utc("2025-03-30T03:00Z")]


def test_a_day_that_a_zone_skipped_altogether_follows_the_gap_policy() -> None:
    window = {"cursor": utc("2011-12-29T00:00Z"), "now": utc("2012-01-02T00:00Z")}
    noon = "0 12 30 12 *"  # Apia had no 30 December 2011
    assert list(planning.due(cron(noon, "Pacific/Apia", Gap.SKIP), **window)) == []
    assert list(planning.due(cron(noon, "Pacific/Apia", Gap.SHIFT), **window)) == [utc("2011-12-31T12:00+14:00")]
    assert list(planning.due(cron(noon, "Pacific/Apia", Gap.GAP_END), **window)) == [utc("2011-12-31T00:00+14:00")]


def test_every_counts_elapsed_time_from_its_anchor_without_storing_it() -> None:
    timing = Timing(every=timedelta(seconds=15))
    due = planning.due(timing, cursor=utc("2026-01-01T16:43:50Z"), now=utc("2026-01-01T16:44:42Z"))
    assert list(due) == [utc(f"2026-01-01T16:44:{second}Z") for second in ("00", "15", "30")]
    year = planning.due(timing, cursor=utc("2026-01-01T00:00Z"), now=utc("2027-01-01T00:00Z"))
    assert isinstance(year, planning.Ticks) and len(year) == 365 * 24 * 240
    assert year[-1] == utc("2027-01-01T00:00Z")


def test_a_window_is_open_at_its_cursor_and_closed_at_now() -> None:
    timing = Timing(cron="*/5 * * * *")
    at = utc("2026-01-01T00:05Z")
    assert list(planning.due(timing, cursor=at, now=at)) == []
    assert list(planning.due(timing, cursor=at - MINUTE, now=at)) == [at]
    assert list(planning.due(timing, cursor=at + MINUTE, now=at)) == []
    assert list(planning.due(timing, cursor=at - timedelta(microseconds=1), now=at)) == [at]


def test_planning_takes_only_instants_in_utc() -> None:
    with pytest.raises(ValueError, match="instants in UTC"):
        planning.due(Timing(cron="* * * * *"), cursor=datetime(2026, 1, 1), now=utc("2026-01-02T00:00Z"))


def test_a_rare_expression_is_found_and_the_last_years_end() -> None:
    started = time.perf_counter()
    rare = planning.upcoming(Timing(cron="0 0 29 2 */7"), after=utc("2096-03-01T00:00Z"), count=2)
    assert rare == [utc("2128-02-29T00:00Z"), utc("2156-02-29T00:00Z")]
    assert planning.upcoming(Timing(cron="0 0 1 1 *"), after=utc("9990-06-01T00:00Z"), count=1) == []
    assert time.perf_counter() - started < 1


@pytest.mark.parametrize(
    ("timing", "words"),
    [
        (Timing(), "neither or both"),
        (Timing(every=timedelta(days=1), cron="* * * * *"), "neither or both"),
        (Timing(every=timedelta(0)), "whole seconds"),
        (Timing(every=timedelta(milliseconds=1500)), "whole seconds"),
        (Timing(every=timedelta(days=1), anchor=datetime(2026, 1, 1)), "anchor"),
        (Timing(cron="0 0 30 2 *"), "never fires"),
        (Timing(cron="0 25 * * *"), "the hour field '25'"),
        (Timing(cron="0 0 * * *", zone="Mars/Olympus"), "not an IANA time zone"),
        (Timing(cron="0 0 * * *", zone="../../etc/passwd"), "not an IANA time zone"),
        (Timing(cron="0 0 * * *", zone=""), "not an IANA time zone"),
    ],
)
def test_what_cannot_be_planned_is_named(timing: Timing, words: str) -> None:
    with pytest.raises(InvalidTiming, match=words):
        planning.check(timing)


@pytest.mark.proves("jobs#test-time-transitions", "jobs#define-business-local-clock-behavior")
def test_every_transition_is_crossed_alike_from_every_restart_point() -> None:
    for fact in facts("transitions.jsonl"):
        moved, width = utc(fact["utc"]), timedelta(minutes=abs(fact["delta_minutes"]))
        start, end = moved - width - timedelta(hours=1), moved + width + timedelta(hours=1)
        for gap, overlap in POLICIES:
            timing = cron("10,40 * * * *", fact["zone"], gap, overlap)
            whole = list(planning.due(timing, cursor=start, now=end))
            assert all(one < other for one, other in pairwise(whole)), fact
            assert whole == _expected(fact, timing, start, end), (fact, gap, overlap)
            step = width / 6
            for n in range(1, int((end - start) / step)):
                now = start + step * n
                before = list(planning.due(timing, cursor=start, now=now))
                assert before + list(planning.due(timing, cursor=now, now=end)) == whole, (fact, gap, overlap, now)


def _expected(fact: dict[str, Any], timing: Timing, start: datetime, end: datetime) -> list[datetime]:
    """Work the instants out from the recorded transition alone, minute by minute."""
    moved, before, after = (
        utc(fact["utc"]),
        *(
            timedelta(hours=int(o[:3]), minutes=int(o[0] + o[4:6]), seconds=int(o[0] + (o[7:9] or "0")))
            for o in (fact["offset_before"], fact["offset_after"])
        ),
    )
    width = abs(after - before)
    fires = set()
    at = (start + before).replace(second=0) - before
    while at <= end:
        wall = at + (before if at < moved else after)
        named = wall.minute in (10, 40) and wall.second == 0
        doubled = after < before and moved - width <= at < moved + width
        second = at >= moved
        if named and at > start:
            keeps = {Overlap.BOTH: True, Overlap.FIRST: not second, Overlap.SECOND: second}
            if not doubled or keeps[timing.overlap or Overlap.BOTH]:
                fires.add(at)
        if after > before and moved <= at < moved + width and (at + before).minute in (10, 40):
            if timing.gap is Gap.SHIFT:
                fires.add(at)
            elif timing.gap is Gap.GAP_END:
                fires.add(moved)
        at += MINUTE
    return sorted(instant for instant in fires if start < instant <= end)


ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "America/Havana")
START, END = datetime(2025, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)


@cache
def walls(zone: str) -> list[tuple[datetime, datetime, bool, bool]]:
    """Return each minute of two years: the instant, its wall time, whether it is the second, whether doubled."""
    found, at, place = [], START, zones.load(zone)
    while at < END:  # no zone moves its clock within a quarter of an hour of UTC
        local = at.astimezone(place)
        ahead = local.utcoffset() or timedelta(0)
        doubled = local.replace(fold=1 - local.fold).utcoffset() != ahead
        wall = local.replace(tzinfo=None)
        found += [(at + MINUTE * n, wall + MINUTE * n, bool(local.fold), doubled) for n in range(15)]
        at += 15 * MINUTE
    return found


def fields(low: int, high: int) -> st.SearchStrategy[str]:
    number = st.integers(low, high)
    span = st.tuples(number, number).map(sorted).filter(lambda p: p[0] < p[1])
    return st.one_of(
        st.just("*"),
        number.map(str),
        st.integers(2, max(2, (high - low) // 2)).map(lambda n: f"*/{n}"),
        span.map(lambda p: f"{p[0]}-{p[1]}"),
        st.lists(number, min_size=2, max_size=3, unique=True).map(lambda ns: ",".join(map(str, ns))),
    )


def values(text: str, low: int, high: int) -> set[int]:
    found: set[int] = set()
    for term in text.split(","):
        span, _, step = term.partition("/")
        first, _, last = span.partition("-")
        bounds = (low, high) if span == "*" else (int(first), int(last or first))
        found |= set(range(bounds[0], bounds[1] + 1, int(step or 1)))
    return found


def brute(expression: str, zone: str, overlap: Overlap) -> list[datetime]:
    """Walk minute by minute and ask of each whether the expression names its wall time."""
    minute, hour, day, month, weekday = expression.split()
    minutes, hours, months = values(minute, 0, 59), values(hour, 0, 23), values(month, 1, 12)
    days, weekdays = values(day, 1, 31), {n % 7 for n in values(weekday, 0, 6)}
    both_days = day.startswith("*") or weekday.startswith("*")
    found = []
    for at, wall, second, doubled in walls(zone):
        if wall.minute not in minutes or wall.hour not in hours or wall.month not in months:
            continue
        matches = (wall.day in days, wall.isoweekday() % 7 in weekdays)
        if not (all(matches) if both_days else any(matches)):
            continue
        if doubled and overlap is not Overlap.BOTH and second is not (overlap is Overlap.SECOND):
            continue
        found.append(at)
    return found


@settings(max_examples=12, deadline=None, phases=[Phase.generate])  # to shrink would take minutes
@given(
    expression=st.tuples(fields(0, 59), fields(0, 23), fields(1, 31), fields(1, 12), fields(0, 6)).map(" ".join),
    zone=st.sampled_from(ZONES),
    overlap=st.sampled_from(Overlap),
)
def test_the_planner_agrees_with_a_walk_through_every_minute_of_two_years(
    expression: str, zone: str, overlap: Overlap
) -> None:
    try:
        due = list(planning.due(cron(expression, zone, Gap.SKIP, overlap), cursor=START - MINUTE, now=END - MINUTE))
    except InvalidTiming:
        due = []  # the walk must find nothing either
    walked = brute(expression, zone, overlap)
    assert due == walked
    for cursor in random.Random(0).sample(walked, min(3, len(walked))):
        rest = planning.due(cron(expression, zone, Gap.SKIP, overlap), cursor=cursor, now=END - MINUTE)
        assert list(rest) == [at for at in walked if at > cursor]


@pytest.mark.proves("jobs#exclude-machine-local-time")
def test_zones_come_from_the_pinned_package_and_not_from_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    timing = cron("0 5 * * *", "Europe/Zurich")
    after = utc("2025-03-29T05:00+01:00")
    expected = planning.upcoming(timing, after=after, count=3)
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        zones.load.cache_clear()
        zones._of_year.cache_clear()
        assert planning.upcoming(timing, after=after, count=3) == expected
    finally:
        monkeypatch.undo()
        time.tzset()
    project = tomllib.loads((Path(__file__).resolve().parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    assert f"tzdata=={zones.PINNED}" in project["project"]["dependencies"]


def test_the_zone_rules_are_as_new_as_the_pin_says() -> None:
    for fact in facts("staleness.jsonl"):
        right = datetime.strptime(fact["right_offset"], "%z").utcoffset()
        assert zones.offset(fact["zone"], utc(fact["utc"])) == right, fact
