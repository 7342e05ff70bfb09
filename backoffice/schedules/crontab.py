"""Read a cron expression. The only import of cronsim: it parses, we resolve.

The fields are minute, hour, day of month, month, day of week; definitions keep to these five (a
leading field of seconds is read too). Where cron libraries disagree, this is our reading:

- Days as in crontab(5): when both day fields are restricted, a day that matches either one fires;
  when one of them begins with a star (`*/2` does), a day must match both. `?` is a star.
- `L` is the month's last day, `LW` its last weekday, `15W` the weekday nearest to the 15th within
  the month (a month without that day does not fire), `5L` the last Friday, `5#2` the second.
- A range may run past the end (`22-4` in hours). Of days of the month only one with a step may.
- `@daily` and its kin stand for their five fields.
"""

from __future__ import annotations

import calendar
import re
from datetime import date, datetime, timedelta
from functools import lru_cache

from cronsim import CronSim, CronSimError
from cronsim.cronsim import SYMBOLIC_DAYS, SYMBOLIC_MONTHS

from backoffice.schedules.timing import InvalidTiming

NAMES = ("second", "minute", "hour", "day-of-month", "month", "day-of-week")
RANGES = ((0, 59), (0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
NICKNAMES = {
    "@HOURLY": "0 * * * *",
    "@DAILY": "0 0 * * *",
    "@MIDNIGHT": "0 0 * * *",
    "@WEEKLY": "0 0 * * 0",
    "@MONTHLY": "0 0 1 * *",
    "@YEARLY": "0 0 1 1 *",
    "@ANNUALLY": "0 0 1 1 *",
}
# 29 February on one weekday comes back after 40 years at the latest; nothing cron says is rarer.
HORIZON_YEARS = 50
_START = datetime(2000, 1, 1)  # noqa: DTZ001  (wall time: cronsim reads the fields on naive times)
_NUMBERS = {name: n for n, name in enumerate(SYMBOLIC_DAYS)} | {name: n for n, name in enumerate(SYMBOLIC_MONTHS, 1)}
_SPAN = re.compile(r"(?P<low>\d+|[A-Z]{3})-(?P<high>\d+|[A-Z]{3})")
_NEAREST = re.compile(r"([1-9]|[12][0-9]|3[01])W", re.ASCII)


class Fields:
    """One parsed expression: the days it names and its times of day, as distances from midnight."""

    def __init__(self, expression: str) -> None:
        self.expression = expression
        text = NICKNAMES.get(expression.strip().upper(), expression)
        parts = text.upper().split()
        if len(parts) not in (5, 6) or not text.isascii():
            raise InvalidTiming(f"{expression!r} is not readable: a cron expression has five fields")
        self.has_seconds = len(parts) == 6
        first = len(NAMES) - len(parts)
        plain = [_plain(expression, first + i, part) for i, part in enumerate(parts)]
        nearest = _NEAREST.fullmatch(plain[-3])
        self._nearest = int(nearest[1]) if nearest else None
        if nearest:
            plain[-3] = nearest[1]
        try:
            self._sim = CronSim(" ".join(plain), _START)
        except CronSimError as error:
            raise InvalidTiming(
                _explain(expression, dict(zip(NAMES[first:], parts, strict=True)), str(error))
            ) from None
        self.months = frozenset(self._sim.months)
        minutes = [timedelta(minutes=minute) for minute in sorted(self._sim.minutes)]
        seconds = [timedelta(seconds=second) for second in sorted(self._sim.seconds)]
        hours = [timedelta(hours=hour) for hour in sorted(self._sim.hours)]
        self.times = tuple(
            moment + second for hour in hours for moment in map(hour.__add__, minutes) for second in seconds
        )
        if not self._fires_ever():
            raise InvalidTiming(f"{expression!r} never fires: no day of the calendar matches its day and month fields")

    def names(self, day: date) -> bool:
        """Say whether the expression fires on this day."""
        if day.month not in self.months:
            return False
        if self._nearest is None:
            return self._sim.match_day(day)
        either = (day == nearest_weekday(day.year, day.month, self._nearest), self._sim.match_dow(day))
        return all(either) if self._sim.day_and else any(either)

    def _fires_ever(self) -> bool:
        day, end = _START.date(), date(_START.year + HORIZON_YEARS, 1, 1)
        while day < end:
            if self.names(day):
                return True
            day = day + timedelta(days=1) if day.month in self.months else next_month(day)
        return False


@lru_cache(maxsize=1024)
def parse(expression: str) -> Fields:
    """Read the expression, or raise InvalidTiming naming the field that is wrong."""
    return Fields(expression)


def next_month(day: date) -> date:
    """Return the first day of the month after this one."""
    return date(day.year + day.month // 12, day.month % 12 + 1, 1)


def nearest_weekday(year: int, month: int, day: int) -> date | None:
    """Return the weekday nearest to this day within its month; None when the month has no such day."""
    length = calendar.monthrange(year, month)[1]
    if day > length:
        return None
    named = date(year, month, day)
    if named.weekday() == calendar.SATURDAY:
        return named + timedelta(days=-1 if day > 1 else 2)
    if named.weekday() == calendar.SUNDAY:
        return named + timedelta(days=1 if day < length else -2)
    return named


def _plain(expression: str, index: int, part: str) -> str:
    """Rewrite what cronsim does not read, and refuse what it reads though it means nothing."""
    if part == "?" and NAMES[index] in ("day-of-month", "day-of-week"):
        return "*"
    return ",".join(_plain_term(expression, index, part, term) for term in part.split(","))


def _plain_term(expression: str, index: int, part: str, term: str) -> str:
    span, slash, step = term.partition("/")
    low, high = RANGES[index]
    wrong = ""
    if slash and (not step.isdigit() or not 1 <= int(step) <= high):
        wrong = f"a step lies between 1 and {high}"
    elif slash and span in ("L", "LW"):
        wrong = "the last day takes no step"
    ends = _SPAN.fullmatch(span)
    if ends and not wrong:
        start, stop = _number(ends["low"]), _number(ends["high"])
        if low <= stop <= start <= high and (slash or stop < start):
            if NAMES[index] == "day-of-month" and not slash:
                wrong = f"the range runs backwards; write {start}-{high},{low}-{stop}"
            else:
                last = high - 1 if NAMES[index] == "day-of-week" else high  # Sunday is 0 and 7
                values = [start] if start == stop else [*range(start, last + 1), *range(low, stop + 1)]
                return ",".join(str(value) for value in values[:: int(step or 1)])
    if wrong:
        raise InvalidTiming(f"the {NAMES[index]} field {part!r} of {expression!r} is not readable: {wrong}")
    return term


def _number(text: str) -> int:
    """Read a number or a name; -1 for a word that is none, which cronsim then refuses."""
    return int(text) if text.isdigit() else _NUMBERS.get(text, -1)


def _explain(expression: str, parts: dict[str, str], complaint: str) -> str:
    for (low, high), name in zip(RANGES, NAMES, strict=True):
        if complaint.endswith(name):
            part = parts[name]
            if name == "day-of-month" and part.isdigit() and low <= int(part) <= high:
                return f"{expression!r} never fires: its months have no day {part}"
            return f"the {name} field {part!r} of {expression!r} is not readable: it takes {low} to {high}"
    return f"{expression!r} is not readable: {complaint}"
