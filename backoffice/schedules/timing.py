"""When a schedule fires, as data: the shape that definitions write and schedule rows remember."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class InvalidTiming(ValueError):
    """Say what cannot be read, naming the field; the text is for the person who wrote it."""


class Gap(StrEnum):
    """What becomes of a wall time that the zone's clock skips."""

    SKIP = "skip"  # it does not fire that day
    SHIFT = "shift"  # it fires as much later as the clock was moved: 02:30 becomes 03:30
    GAP_END = "gap_end"  # it fires at the moment the clock was moved, once for all skipped times


class Overlap(StrEnum):
    """Which of the two instants of a wall time fire that the zone's clock repeats."""

    FIRST = "first"
    SECOND = "second"
    BOTH = "both"


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Either `every` (elapsed time, counted from `anchor`) or `cron` (wall time of `zone`).

    The gap and overlap policies hold for every wall time alike: a job at a fixed hour and one that
    fires each minute are treated the same, and nothing is guessed from the look of the expression.
    """

    every: timedelta | None = None
    cron: str | None = None
    zone: str = "UTC"
    gap: Gap | None = None
    overlap: Overlap | None = None
    anchor: datetime = EPOCH

    def as_data(self) -> dict[str, Any]:
        """Return the record as JSON-safe data."""
        return {
            "every": self.every.total_seconds() if self.every is not None else None,
            "cron": self.cron,
            "zone": self.zone,
            "gap": str(self.gap) if self.gap else None,
            "overlap": str(self.overlap) if self.overlap else None,
            "anchor": self.anchor.isoformat(),
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Timing:
        """Read the record back."""
        return cls(
            every=timedelta(seconds=data["every"]) if data["every"] is not None else None,
            cron=data["cron"],
            zone=data["zone"],
            gap=Gap(data["gap"]) if data["gap"] else None,
            overlap=Overlap(data["overlap"]) if data["overlap"] else None,
            anchor=datetime.fromisoformat(data["anchor"]),
        )

    def __str__(self) -> str:
        if self.every is not None:
            return f"every {self.every}"
        return f"{self.cron} ({self.zone})"
