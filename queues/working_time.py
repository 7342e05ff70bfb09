"""Arithmetic of working time: a calendar, an instant and a length give the instant when the length has passed.

An instant is working time when the wall clock of the calendar's zone then stands inside one of the hours of
its weekday and its date is no holiday. So an hour that the clock repeats counts twice and one that it skips
does not count. Everything is computed in UTC, in whole microseconds since 1970; only the years from `FIRST`
to `LAST` have working time, and no search looks further ahead than `HORIZON` years.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

from backoffice.schedules import zones

FIRST, LAST = 1900, 2200
HORIZON = 20
DAY_END = 24 * 60
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LOCAL_EPOCH = date(1970, 1, 1).toordinal()
_MINUTE = 60_000_000
_DAY = DAY_END * _MINUTE

Range = tuple[int, int]


@dataclass(frozen=True)
class _Year:
    """The working stretches of one year of UTC: their starts and ends, and the time before each."""

    starts: Sequence[int]
    ends: Sequence[int]
    before: Sequence[int]
    total: int


@dataclass(frozen=True)
class Calendar:
    """When work is done: by weekday, Monday first, the minutes after midnight from and to; the days off.

    Ranges of a day rise and do not overlap.
    """

    zone: str
    hours: tuple[tuple[Range, ...], ...]
    holidays: frozenset[date] = frozenset()
    # The years laid out so far; hashing a calendar to find one in a shared cache would cost more than the search.
    _laid_out: dict[int, _Year] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def empty(self) -> bool:
        """Say whether no week has working time at all."""
        return not any(self.hours)

    @property
    def always(self) -> bool:
        """Say whether every instant is working time."""
        return not self.holidays and all(day == ((0, DAY_END),) for day in self.hours)


def weekdays(zone: str) -> Calendar:
    """Return the calendar of who says nothing: Monday to Friday, 9 to 17."""
    return Calendar(zone, (((9 * 60, 17 * 60),),) * 5 + ((),) * 2)


def add(
    calendar: Calendar, start: datetime, length: timedelta, *, without: Iterable[tuple[datetime, datetime]] = ()
) -> datetime | None:
    """Return the first instant by which `length` of working time has passed since `start`.

    Stretches in `without` do not count. None where the calendar has not so much time ahead. `start` is aware.
    """
    left = _micros(length)
    at: int | None = _since_epoch(start)
    for first, last in _apart(without):
        assert at is not None
        if last <= at:
            continue
        if first > at:
            done = _between(calendar, at, first, enough=left)
            if done >= left:
                break
            left -= done
        at = last
    assert at is not None
    at = _advance(calendar, at, left)
    return None if at is None else _EPOCH + timedelta(microseconds=at)


def between(calendar: Calendar, start: datetime, end: datetime) -> timedelta:
    """Return the working time from `start` to `end`; nothing where the end comes first."""
    return timedelta(microseconds=_between(calendar, _since_epoch(start), _since_epoch(end)))


def _advance(calendar: Calendar, at: int, left: int) -> int | None:
    """Return when `left` of working time has passed since `at`; None beyond the horizon."""
    first = _year_of(at)
    if calendar.empty or not FIRST <= first <= LAST:
        return None
    for year in range(first, min(first + HORIZON, LAST) + 1):
        known = _year(calendar, year)
        passed = _passed(known, at) if year == first else 0
        if known.total - passed >= left > 0:
            wanted = passed + left
            place = bisect_right(known.before, wanted - 1) - 1
            return known.starts[place] + wanted - known.before[place]
        left -= known.total - passed
    return None


def _between(calendar: Calendar, start: int, end: int, *, enough: int | None = None) -> int:
    """Return the working time between two instants; it may stop counting at `enough`."""
    if end <= start:
        return 0
    counted = 0
    first, last = max(_year_of(start), FIRST), min(_year_of(end), LAST)
    for year in range(first, last + 1):
        known = _year(calendar, year)
        counted += _passed(known, end) - _passed(known, start)
        if enough is not None and counted >= enough:
            break
    return counted


def _passed(known: _Year, at: int) -> int:
    """Return how much of the year's working time lies before the instant."""
    place = bisect_right(known.starts, at) - 1
    if place < 0:
        return 0
    return known.before[place] + min(at, known.ends[place]) - known.starts[place]


def _year(calendar: Calendar, year: int) -> _Year:
    known = calendar._laid_out.get(year)
    if known is None:
        known = calendar._laid_out[year] = _lay_out(calendar, year)
    return known


def _lay_out(calendar: Calendar, year: int) -> _Year:
    """Lay out one year of UTC, a stretch of constant offset after the other."""
    opens, closes = datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC)
    moves = [move for move in zones.transitions(calendar.zone, start=opens, end=closes) if move.at > opens]
    edges = [opens, *(move.at for move in moves), closes]
    starts, ends, before, total = [], [], [], 0
    holidays = {day.toordinal() for day in calendar.holidays}
    for low, high in pairwise(edges):
        offset = _micros(zones.offset(calendar.zone, low))
        local_low, local_high = _since_epoch(low) + offset, _since_epoch(high) + offset
        for number in range(local_low // _DAY, (local_high - 1) // _DAY + 1):
            if number + _LOCAL_EPOCH in holidays:
                continue
            midnight = number * _DAY
            for opening, closing in calendar.hours[(number + 3) % 7]:  # the first day of 1970 was a Thursday
                one = max(midnight + opening * _MINUTE, local_low) - offset
                other = min(midnight + closing * _MINUTE, local_high) - offset
                if one < other:
                    starts.append(one)
                    ends.append(other)
                    before.append(total)
                    total += other - one
    return _Year(starts, ends, before, total)


def _apart(stretches: Iterable[tuple[datetime, datetime]]) -> list[tuple[int, int]]:
    """Return the stretches in order, those that touch joined, those that end before they begin left out."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted((_since_epoch(one), _since_epoch(other)) for one, other in stretches):
        if joined and first <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        elif first < last:
            joined.append((first, last))
    return joined


def _since_epoch(instant: datetime) -> int:
    return _micros(instant - _EPOCH)


def _micros(length: timedelta) -> int:
    return (length.days * 86_400 + length.seconds) * 1_000_000 + length.microseconds


def _year_of(micros: int) -> int:
    return (_EPOCH + timedelta(microseconds=micros)).year
