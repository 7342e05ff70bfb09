"""Time zones from the pinned `tzdata` package, never from the machine, and their transitions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import MINYEAR, UTC, datetime, timedelta
from functools import lru_cache
from importlib import metadata, resources
from zoneinfo import ZoneInfo

from backoffice.schedules.timing import InvalidTiming

# The version that pyproject.toml pins; a test holds the two together. An older one plans stale rules.
PINNED = "2026.6"
_STEP = timedelta(hours=1)
_SECOND = timedelta(seconds=1)
_NAME_PARTS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-")


@dataclass(frozen=True)
class Transition:
    """The zone's clock is moved at `at`: a gap when `after` is greater than `before`, else a fold."""

    at: datetime
    before: timedelta
    after: timedelta

    @property
    def is_gap(self) -> bool:
        return self.after > self.before

    @property
    def width(self) -> timedelta:
        return abs(self.after - self.before)


@lru_cache(maxsize=512)
def load(name: str) -> ZoneInfo:
    """Load the zone from the `tzdata` package, or raise InvalidTiming for what is no IANA zone."""
    parts = name.split("/")
    if all(part and set(part) <= _NAME_PARTS for part in parts):
        file = resources.files("tzdata").joinpath("zoneinfo", *parts)
        if file.is_file():
            with file.open("rb") as data:
                if data.read(4) == b"TZif":
                    data.seek(0)
                    return ZoneInfo.from_file(data, key=name)
    raise InvalidTiming(f"{name!r} is not an IANA time zone")


def transitions(name: str, *, start: datetime, end: datetime) -> list[Transition]:
    """List the zone's transitions in [start, end), oldest first. Both are aware and in UTC."""
    if name == "UTC":
        return []
    found = [t for year in range(start.year, end.year + 1) for t in _of_year(name, year)]
    return [t for t in found if start <= t.at < end]


def offset(name: str, instant: datetime) -> timedelta:
    """Return how far the zone's clock is ahead of UTC at the instant."""
    ahead = instant.astimezone(load(name)).utcoffset()
    assert ahead is not None
    return ahead


def installed() -> str:
    """Return the version of the `tzdata` package."""
    return metadata.version("tzdata")


@lru_cache(maxsize=2048)
def _of_year(name: str, year: int) -> tuple[Transition, ...]:
    """Find the year's transitions by looking each hour and bisecting to the second."""
    zone = load(name)
    at, end = datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC)
    if year > MINYEAR:
        at -= _STEP
    found = []
    before = at.astimezone(zone).utcoffset()
    while at < end:
        following = at + _STEP
        after = following.astimezone(zone).utcoffset()
        if after != before:
            moved = _bisect(zone, at, following)
            if moved.year == year:
                found.append(Transition(moved, before or timedelta(), after or timedelta()))
        at, before = following, after
    return tuple(found)


def _bisect(zone: ZoneInfo, low: datetime, high: datetime) -> datetime:
    before = low.astimezone(zone).utcoffset()
    while high - low > _SECOND:
        middle = low + timedelta(seconds=(high - low) // _SECOND // 2)
        if middle.astimezone(zone).utcoffset() == before:
            low = middle
        else:
            high = middle
    return high
