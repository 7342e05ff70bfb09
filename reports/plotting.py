"""Bars for a page, drawn on the server: figures as attributes of SVG, nothing inline that a policy forbids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from reports.base import Report

LABELS, LENGTH, BAR, GAP, FIGURES = 90, 360, 22, 10, 90


@dataclass(frozen=True)
class Bar:
    """One bar: its label and value, and where it lies."""

    label: str
    value: Decimal
    y: int
    length: int

    @property
    def middle(self) -> int:
        """Where a line of text beside the bar stands."""
        return self.y + BAR - 7

    @property
    def end(self) -> int:
        """Where the bar ends, with a little room."""
        return LABELS + self.length + 6


@dataclass(frozen=True)
class Drawing:
    """A plot ready for its template."""

    title: str
    bars: list[Bar]
    width: int
    height: int
    start: int = LABELS
    thickness: int = BAR


def draw(report: Report, rows: Sequence[Sequence[Any]]) -> Drawing | None:
    """Sum the plotted value by its label, in the order of the rows, and lay the bars out."""
    if report.plot is None or not rows:
        return None
    names = [column.name for column in report.columns]
    label, value = names.index(report.plot.label), names.index(report.plot.value)
    sums: dict[str, Decimal] = {}
    for row in rows:
        sums[str(row[label])] = sums.get(str(row[label]), Decimal(0)) + Decimal(str(row[value] or 0))
    most = max(max(sums.values()), Decimal(1))
    bars = [
        Bar(name, total, y=at * (BAR + GAP), length=max(1, int(LENGTH * total / most)) if total > 0 else 0)
        for at, (name, total) in enumerate(sums.items())
    ]
    return Drawing(str(report.plot.title), bars, width=LABELS + LENGTH + FIGURES, height=len(bars) * (BAR + GAP))
