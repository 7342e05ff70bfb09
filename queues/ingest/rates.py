"""Load reference rates: a small CSV of date, currency, rate and source, all of it or none.

`rate` is how many of `currency` one of the tenant's own currency buys. A second load changes nothing; a
rate that comes again with another value or source takes the old one's place, and is counted as corrected.
"""

from __future__ import annotations

import csv
import hashlib
import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

from django.db.models import Q
from django.utils.translation import gettext as _

from backoffice import commands, money
from backoffice.commands import Actor, Outcome, command
from backoffice.errors import Refusal
from backoffice.tenants import scope
from queues import reference
from queues.ingest import decoding
from queues.models import ReferenceRate

COLUMNS = ("date", "currency", "rate", "source")
MAX_BYTES, MAX_ROWS, MAX_SOURCE = 20_000_000, 200_000, 100
_RATE = re.compile(r"\d{1,10}(?:\.\d{1,10})?", re.ASCII)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_EARLIEST, _AHEAD = date(1990, 1, 1), timedelta(days=7)

Rate = tuple[date, str]


@dataclass(frozen=True)
class Summary:
    """What became of a file: read = added + corrected + unchanged."""

    read: int
    added: int
    corrected: int
    unchanged: int


def load_file(*, actor: Actor, path: Path, now: datetime) -> Summary:
    """Load the file's rates into the open tenant; refuse one with a line that cannot be right, and load nothing."""
    if path.stat().st_size > MAX_BYTES:
        raise Refusal("too-large", _("A file of rates has at most %(most)d bytes.") % {"most": MAX_BYTES})
    raw = path.read_bytes()
    decoding.require_text(raw[:64])
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Refusal("encoding", _("The file is not UTF-8 text.")) from None
    rates = read(text, latest=reference.today(now) + _AHEAD, base=scope.current().currency)
    outcome = commands.dispatch(
        load_rates,
        actor=actor,
        # A fresh key each time: a repeat of the same rates changes nothing, and its summary is then true.
        key=f"rates:{uuid4().hex}",
        sha256=hashlib.sha256(raw).hexdigest(),
        rates=rates,
    )
    return Summary(**outcome.data)


def read(text: str, *, latest: date, base: str) -> list[list[str]]:
    """Return the file's rates as [day, currency, rate, source]; refuse the first line that cannot be right."""
    try:
        lines = list(csv.reader(text.splitlines(), strict=True))
    except csv.Error:
        raise Refusal("unreadable", _("The file cannot be read as CSV.")) from None
    if not lines or [name.strip().lower() for name in lines[0]] != list(COLUMNS):
        raise Refusal("columns", _("The file begins with the columns %(names)s.") % {"names": ",".join(COLUMNS)})
    if len(lines) > MAX_ROWS:
        raise Refusal("too-large", _("A file of rates has at most %(most)d lines.") % {"most": MAX_ROWS})
    found: dict[Rate, list[str]] = {}
    for number, cells in enumerate(lines[1:], start=2):
        if not any(cell.strip() for cell in cells):
            continue
        day, currency, rate, source = checked(number, cells, latest=latest, base=base)
        known = found.setdefault((date.fromisoformat(day), currency), [day, currency, rate, source])
        if known != [day, currency, rate, source]:
            raise _bad(number, _("the same day and currency stand further up with another rate or source"))
    if not found:
        raise Refusal("empty", _("The file holds no rates."))
    return list(found.values())


def checked(number: int, cells: list[str], *, latest: date, base: str) -> tuple[str, str, str, str]:
    """Return one line's cells as they are kept, or raise Refusal with the line and what is wrong."""
    if len(cells) != len(COLUMNS):
        raise _bad(number, _("it has not exactly four cells"))
    day, currency, rate, source = (cell.strip() for cell in cells)
    if not _is_day(day) or not _EARLIEST <= date.fromisoformat(day) <= latest:
        raise _bad(number, _("“%(cell)s” is no day from 1990 to a week from now") % {"cell": day[:20]})
    if currency not in money.CURRENCIES:
        raise _bad(number, _("“%(cell)s” is not a currency") % {"cell": currency[:20]})
    if not _RATE.fullmatch(rate) or Decimal(rate) == 0:
        raise _bad(
            number, _("“%(cell)s” is no rate: a plain number above 0, at most 10 decimals") % {"cell": rate[:20]}
        )
    if currency == base:
        raise _bad(number, _("%(currency)s is the tenant's own currency and has no rate") % {"currency": currency})
    if not source or len(source) > MAX_SOURCE or not source.isprintable():
        raise _bad(number, _("the source is missing, too long, or no plain text"))
    return day, currency, plain(Decimal(rate)), source


@command("rates.load", permission="queues.ingest", systems=("shell", "demo"))
def load_rates(*, actor: Actor, sha256: str, rates: list[list[str]]) -> Outcome:
    """Keep these rates against the tenant's own currency; count what was new and what took another's place."""
    base = scope.current().currency
    latest = date.max
    wanted: dict[Rate, tuple[str, str]] = {}
    for number, cells in enumerate(rates, start=1):
        day, currency, rate, source = checked(number, cells, latest=latest, base=base)
        wanted[date.fromisoformat(day), currency] = (rate, source)
    days = Q(as_of__in={day for day, _currency in wanted})
    known = {
        (row.as_of, row.currency): (plain(row.rate), row.source)
        for row in ReferenceRate.objects.filter(days, base=base).select_for_update()
    }
    changed = {rate: told for rate, told in wanted.items() if known.get(rate) != told}
    ReferenceRate.objects.bulk_create(
        [
            ReferenceRate(
                tenant=scope.current(), base=base, currency=currency, as_of=day, rate=Decimal(rate), source=source
            )
            for (day, currency), (rate, source) in sorted(changed.items())
        ],
        batch_size=2_000,
        update_conflicts=True,
        unique_fields=["tenant", "base", "currency", "as_of"],
        update_fields=["rate", "source"],
    )
    corrected = sum(rate in known for rate in changed)
    data: dict[str, Any] = {
        "read": len(wanted),
        "added": len(changed) - corrected,
        "corrected": corrected,
        "unchanged": len(wanted) - len(changed),
    }
    return Outcome(target=f"file:{sha256[:16]}", data=data)


def plain(rate: Decimal) -> str:
    """Write a rate in one way, so that 1.16 and 1.1600 are one rate."""
    text = f"{rate:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _is_day(text: str) -> bool:
    if not _DAY.fullmatch(text):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _bad(number: int, words: str) -> Refusal:
    return Refusal("bad-line", _("Line %(number)d: %(words)s.") % {"number": number, "words": words})
