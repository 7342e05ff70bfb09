"""Plan instants: a pure function of a timing, a cursor and now.

All arithmetic is in UTC, because an aware local time plus a duration forgets which of two repeated
hours it is in. A zone's time is cut at its transitions into pieces of one offset; within a piece
wall time and UTC differ by a constant, so instants come out in order. What the clock skips or
repeats is then added or left out as the policies say. Asked from any cursor, the answer is the same
sequence from there on.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice

from backoffice.schedules import crontab, zones
from backoffice.schedules.crontab import Fields
from backoffice.schedules.timing import Gap, InvalidTiming, Overlap, Timing

_SECOND = timedelta(seconds=1)
_DAY = timedelta(days=1)
_YEAR = timedelta(days=365)
# The widest gap the zones know is a whole day (Apia, 2011).
_WIDEST = timedelta(hours=25)
_LAST = datetime(9990, 1, 1, tzinfo=UTC)


class Ticks(Sequence[datetime]):
    """The instants of an `every` timing within a window, counted and not stored."""

    def __init__(self, *, anchor: datetime, every: timedelta, first: int, stop: int) -> None:
        self._anchor, self._every, self._numbers = anchor, every, range(first, max(first, stop))

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, index: int | slice) -> datetime | list[datetime]:  # type: ignore[override]  # one body serves both overloads
        if isinstance(index, slice):
            return [self._anchor + self._every * n for n in self._numbers[index]]
        return self._anchor + self._every * self._numbers[index]


def due(timing: Timing, *, cursor: datetime, now: datetime) -> Sequence[datetime]:
    """Return every instant in (cursor, now], strictly increasing and in UTC."""
    _check_instant(cursor)
    _check_instant(now)
    if timing.every is not None:
        every = _elapsed(timing)
        return Ticks(
            anchor=timing.anchor,
            every=every,
            first=(cursor - timing.anchor) // every + 1,
            stop=(now - timing.anchor) // every + 1,
        )
    return list(_cron(timing, cursor, now))


def upcoming(timing: Timing, *, after: datetime, count: int) -> list[datetime]:
    """Return the next `count` instants after this one; fewer when the calendar ends first."""
    _check_instant(after)
    if timing.every is not None:
        every = _elapsed(timing)
        first = (after - timing.anchor) // every + 1
        return [timing.anchor + every * n for n in range(first, first + count)]
    horizon = _YEAR * crontab.HORIZON_YEARS * max(count, 1)
    until = after + horizon if after < _LAST - horizon else _LAST
    return list(islice(_cron(timing, after, until), count))


def check(timing: Timing) -> None:
    """Raise InvalidTiming unless the timing can be planned."""
    if (timing.every is None) == (timing.cron is None):
        raise InvalidTiming("it states neither or both of `every` and `cron`")
    zones.load(timing.zone)
    if timing.every is not None:
        _elapsed(timing)
    else:
        _fields(timing)


def _elapsed(timing: Timing) -> timedelta:
    every = timing.every
    if not isinstance(every, timedelta) or every < _SECOND or every % _SECOND:
        raise InvalidTiming(f"`every` is a duration of whole seconds, at least one: {every!r}")
    if timing.anchor.utcoffset() != timedelta(0) or timing.anchor.microsecond:
        raise InvalidTiming("`anchor` is an instant in UTC at a whole second")
    return every


def _fields(timing: Timing) -> Fields:
    if not isinstance(timing.cron, str):
        raise InvalidTiming(f"`cron` is text of five fields: {timing.cron!r}")
    return crontab.parse(timing.cron)


def _check_instant(instant: datetime) -> None:
    if instant.utcoffset() != timedelta(0):
        raise ValueError(f"planning takes instants in UTC, not {instant!r}")


def _cron(timing: Timing, after: datetime, until: datetime) -> Iterator[datetime]:
    """Iterate over (after, until], a year at a time so that a far end costs nothing until it is reached."""
    fields = _fields(timing)
    start = after.astimezone(UTC).replace(microsecond=0) + _SECOND
    end = until.astimezone(UTC).replace(microsecond=0) + _SECOND
    while start < end:
        stop = min(start + _YEAR, end)
        yield from _window(fields, timing, start, stop)
        start = stop


def _window(fields: Fields, timing: Timing, start: datetime, end: datetime) -> Iterator[datetime]:
    """Iterate over [start, end): piece by piece between transitions."""
    edges = zones.transitions(timing.zone, start=start - _WIDEST, end=end + _WIDEST)
    offset = zones.offset(timing.zone, start - _WIDEST)
    low = start
    for index in range(len(edges) + 1):
        high = end
        if index < len(edges):
            edge = edges[index]
            repeats = edge.width if not edge.is_gap and timing.overlap is Overlap.SECOND else timedelta()
            high = min(end, edge.at - repeats)
        if low < high:
            yield from _matches(fields, low, high, offset)
        if index == len(edges):
            return
        low, offset = max(start, edge.at), edge.after
        if edge.is_gap:
            moved = _skipped(fields, timing, edge)
            behind = edge.at + edge.width
            if moved and behind > start and low < end:
                stop = min(end, behind)
                both = {*moved, *_matches(fields, low, stop, offset)}
                yield from sorted(instant for instant in both if low <= instant < stop)
                low = stop
        elif timing.overlap is Overlap.FIRST:
            low = max(low, edge.at + edge.width)


def _skipped(fields: Fields, timing: Timing, edge: zones.Transition) -> list[datetime]:
    """Return where the wall times that this gap swallows fire instead, all within its width after it."""
    if timing.gap not in (Gap.SHIFT, Gap.GAP_END):
        return []
    swallowed = _matches(fields, edge.at, edge.at + edge.width, edge.before)
    if timing.gap is Gap.SHIFT:
        return list(swallowed)
    return [edge.at] if next(swallowed, None) is not None else []


def _matches(fields: Fields, start: datetime, end: datetime, offset: timedelta) -> Iterator[datetime]:
    """Iterate over the instants in [start, end) whose wall time at this offset the fields name."""
    times = fields.times
    day, last = (start + offset).date(), (end + offset - _SECOND).date()
    while day <= last:
        if not fields.names(day):
            day = day + _DAY if day.month in fields.months else crontab.next_month(day)
            continue
        midnight = _utc_midnight(day) - offset
        first = bisect_left(times, start - midnight) if midnight < start else 0
        stop = bisect_left(times, end - midnight) if midnight + _DAY > end else len(times)
        for elapsed in times[first:stop]:
            yield midnight + elapsed
        day += _DAY


def _utc_midnight(day: date) -> datetime:
    return datetime.combine(day, time(), tzinfo=UTC)
