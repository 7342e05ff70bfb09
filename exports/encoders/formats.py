"""The forms in which a file is written, each under the name that a request keeps as its encoding."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Format:
    """One form of a file: what it is for browsers, and how its name ends."""

    content_type: str
    extension: str


CSV = Format("text/csv; charset=utf-8", "csv")
FORMATS = {
    "utf-8-sig": CSV,
    "utf-8": CSV,
    "xlsx": Format("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"),
}
ENCODINGS = tuple(FORMATS)
