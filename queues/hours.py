"""Working hours as people write them, "9:00–12:30, 13:30–17:00", and as they are kept: minutes after midnight."""

from __future__ import annotations

import re
from collections.abc import Sequence

from django.utils.translation import gettext as _

from backoffice.errors import Refusal
from queues.working_time import DAY_END, Range

MOST_RANGES = 8
_RANGE = re.compile(r"(\d{1,2})(?:[:.](\d{2}))?\s*[-–—]\s*(\d{1,2})(?:[:.](\d{2}))?", re.ASCII)


def parse(text: str) -> list[Range]:
    """Read one day's hours; nothing for a day off. Raise Refusal in words for what is no such text."""
    found = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        match = _RANGE.fullmatch(part)
        if match is None:
            raise Refusal(
                "bad-hours", _("“%(text)s” is no time from and to, such as 9:00–17:30.") % {"text": part[:40]}
            )
        first, last = _minute(match[1], match[2], part), _minute(match[3], match[4], part)
        found.append((first, last))
    return joined(found)


def joined(ranges: Sequence[Range]) -> list[Range]:
    """Return one day's hours in order, those that touch joined; refuse what overlaps or is none."""
    whole: list[Range] = []
    for first, last in sorted(ranges):
        words = {"from": clock(first), "to": clock(last)}
        if not 0 <= first < last <= DAY_END:
            text = _(
                "%(from)s–%(to)s ends before it begins. Hours past midnight stand on both days, such as 0:00–6:00."
            )
            raise Refusal("bad-hours", text % words)
        if whole and first < whole[-1][1]:
            raise Refusal("bad-hours", _("%(from)s–%(to)s overlaps the hours before it.") % words)
        if whole and first == whole[-1][1]:
            whole[-1] = (whole[-1][0], last)
        else:
            whole.append((first, last))
    if len(whole) > MOST_RANGES:
        raise Refusal("bad-hours", _("A day has at most %(most)d stretches of hours.") % {"most": MOST_RANGES})
    return whole


def write(ranges: Sequence[Range]) -> str:
    """Write one day's hours for people, in the form that `parse` reads."""
    return ", ".join(f"{clock(first)}–{clock(last)}" for first, last in ranges)


def clock(minute: int) -> str:
    """Write minutes after midnight as a time of day."""
    return f"{minute // 60}:{minute % 60:02d}"


def _minute(hour: str, minute: str | None, part: str) -> int:
    whole = int(hour) * 60 + int(minute or 0)
    if int(minute or 0) > 59 or whole > DAY_END:
        raise Refusal("bad-hours", _("“%(text)s” is no time from and to, such as 9:00–17:30.") % {"text": part[:40]})
    return whole
