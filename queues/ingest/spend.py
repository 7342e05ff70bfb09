"""Council spend files: which columns they have under which names, and what makes a row a payout."""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from zoneinfo import ZoneInfo

from django.utils.translation import gettext as _

from backoffice import money
from backoffice.errors import Refusal

BLANK, CELLS, POISON, TOO_LONG = "blank-record", "cells", "poison", "too-long"
NO_PAYEE, NO_REFERENCE = "payee-missing", "reference-missing"
NO_AMOUNT, ZERO, OUT_OF_RANGE = "amount-unreadable", "amount-zero", "amount-out-of-range"
DUPLICATE, CONFLICT = "duplicate", "conflict"

# The closed set of reasons, each with its words.
REASONS = {
    BLANK: "the row names no payment: no number, amount, payee or date",
    CELLS: "the row has more or fewer cells than the header",
    POISON: "the row cannot be read as text: broken quoting, or a character that cannot be stored",
    TOO_LONG: "a cell is longer than can be kept",
    NO_PAYEE: "nobody to pay: the supplier's name or number is blank",
    NO_REFERENCE: "the transaction number is blank",
    NO_AMOUNT: "the amount is not a number",
    ZERO: "the amount is zero",
    OUT_OF_RANGE: "the amount has more digits than its currency or the product knows",
    DUPLICATE: "the same row stands further up in the file",
    CONFLICT: "the same payment stands further up in the file with other details",
}

# What each column may be called, after case, underscores and spaces are evened out.
COLUMNS = {
    "body": ("body name", "body", "client"),
    "unit": ("organisational unit", "service area", "department"),
    "category": ("expenditure category", "expense type"),
    "code": ("expenditure code",),
    "date": ("paid date", "payment date", "date"),
    "number": ("trans no", "transaction number", "transaction no"),
    "amount": ("amount",),
    "kind": ("caporrev", "type", "capital or revenue", "type of expenditure"),
    "account": ("supplier id", "supplier number"),
    "payee": ("supplier name", "supplier"),
}
NEEDED = ("number", "amount", "account", "payee")
_BY_NAME = {name: column for column, names in COLUMNS.items() for name in names}
_LIMITS = {"reference": 80, "beneficiary": 200, "account": 80, "description": 300}
_PLAIN = re.compile(r"(?P<sign>-?)(?P<digits>\d{1,3}(?:,\d{3})+|\d+)(?P<rest>\.\d+)?", re.ASCII)
_DATES = ("%d/%m/%Y", "%Y-%m-%d", "%d-%m-%Y", "%d.%m.%Y", "%d %b %Y", "%d %B %Y", "%d/%m/%y")
_EARLIEST = date(1990, 1, 1)


@dataclass(frozen=True)
class Header:
    """Where each known column stands; how many cells a row has; what was guessed and what is not used."""

    places: dict[str, int]
    width: int
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Record:
    """One row as the buffer keeps it: dropped with a reason, or ready to load with "" for it."""

    line: int
    reason: str = ""
    natural_key: str = ""
    digest: str = ""
    reference: str = ""
    state: str = ""
    beneficiary: str = ""
    account: str = ""
    amount: Decimal | None = None
    description: str = ""
    opened_at: datetime | None = None


def read_header(cells: list[str]) -> Header:
    """Match the header's names, drifted as they may be; refuse one that lacks a needed column."""
    places: dict[str, int] = {}
    notes = []
    for place, name in enumerate(cells):
        even = " ".join(name.replace("_", " ").lower().split())
        close = [even] if even in _BY_NAME else difflib.get_close_matches(even, _BY_NAME, n=1, cutoff=0.88)
        if not close:
            if even:
                notes.append(_("column “%(name)s” is not used") % {"name": name.strip()[:60]})
            continue
        column = _BY_NAME[close[0]]
        if column in places:
            raise Refusal("columns", _("Two columns of the file both mean “%(name)s”.") % {"name": COLUMNS[column][0]})
        places[column] = place
        if close[0] != even:
            notes.append(_("column “%(name)s” is read as “%(as)s”") % {"name": name.strip()[:60], "as": close[0]})
    missing = [COLUMNS[column][0] for column in NEEDED if column not in places]
    if missing:
        raise Refusal("columns", _("The file lacks these columns: %(names)s.") % {"names": ", ".join(missing)})
    if "date" not in places:
        notes.append(_("the file has no date column"))
    return Header(places, len(cells), tuple(notes))


def read_record(
    line: int, cells: list[str] | None, *, header: Header, currency: str, zone: ZoneInfo, latest: date
) -> Record:
    """Turn one row into a record; what is wrong with it becomes its one reason."""
    if cells is None or any("\x00" in cell for cell in cells):
        return Record(line, POISON)
    if len(cells) < header.width or any(cell.strip() for cell in cells[header.width :]):
        return Record(line, BLANK if not any(cell.strip() for cell in cells) else CELLS)
    cell = {column: cells[place].strip() for column, place in header.places.items()}
    if not any(cell.get(column) for column in ("number", "amount", "payee", "date")):
        return Record(line, BLANK)
    if not cell["number"]:
        return Record(line, NO_REFERENCE)
    if not cell["payee"] or not cell["account"]:
        return Record(line, NO_PAYEE)
    amount = read_amount(cell["amount"])
    if amount is None:
        return Record(line, NO_AMOUNT)
    if amount == 0:
        return Record(line, ZERO)
    try:
        money.exact(amount, currency)
    except Refusal:
        return Record(line, OUT_OF_RANGE)
    if abs(amount) >= Decimal(10) ** 16:
        return Record(line, OUT_OF_RANGE)
    text = {
        "reference": re.sub(r"\s*[-_\s]\s*", "_", cell["number"]),
        "beneficiary": cell["payee"],
        "account": cell["account"],
        "description": " · ".join(part for part in (cell.get("unit", ""), cell.get("category", "")) if part),
    }
    if any(len(value) > _LIMITS[name] for name, value in text.items()):
        return Record(line, TOO_LONG)
    identity = (
        cell.get("body", "").casefold(),
        text["reference"],
        cell.get("code", ""),
        plain(amount),
        text["account"],
    )
    return Record(
        line=line,
        natural_key=f"spend:{_hash(identity)}",
        digest=_hash([*cell.values()]),
        state="credit" if amount < 0 else "pending",
        amount=amount,
        opened_at=read_date(cell.get("date", ""), zone=zone, latest=latest),
        **text,
    )


def read_amount(text: str) -> Decimal | None:
    """Read "1500", "-1,500.00", "£12.50" or "(500.00)" exactly; None for anything else."""
    bare = text.replace("£", "").replace(" ", "")
    if bare.startswith("(") and bare.endswith(")"):
        bare = "-" + bare[1:-1]
    match = _PLAIN.fullmatch(bare)
    if match is None or len(bare) > 40:
        return None
    return Decimal(match["sign"] + match["digits"].replace(",", "") + (match["rest"] or ""))


def read_date(text: str, *, zone: ZoneInfo, latest: date) -> datetime | None:
    """Read a day as its midnight in the tenant's zone; None for what is no day, or one out of reason."""
    for form in _DATES:
        try:
            day = datetime.strptime(text, form).date()  # noqa: DTZ007  (a day has no zone; it gets the tenant's)
        except ValueError:
            continue
        return datetime.combine(day, time(), tzinfo=zone) if _EARLIEST <= day <= latest else None
    return None


def plain(amount: Decimal) -> str:
    """Write an amount in one way, so that 1500 and 1500.00 are one identity."""
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _hash(parts: Iterable[str]) -> str:
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:40]
