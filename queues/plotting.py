"""Plots of a queue, drawn on the server: places of bars as attributes of SVG, nothing inline that a policy forbids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

HEIGHT, WIDTH, FOOT = 220, 720, 20


@dataclass(frozen=True)
class Bar:
    """One bar of a series; `title` says its figure to who points at it."""

    x: float
    y: float
    width: float
    height: float
    series: int
    title: str


@dataclass(frozen=True)
class Mark:
    """One label below the bars."""

    x: float
    text: str


@dataclass(frozen=True)
class Plot:
    """A plot ready for its template. `most` is the figure at its top."""

    bars: list[Bar]
    marks: list[Mark]
    most: int
    width: int = WIDTH
    height: int = HEIGHT + FOOT
    floor: int = HEIGHT


def columns(labels: Sequence[str], *series: Sequence[int], marked: Sequence[int] | None = None) -> Plot:
    """Lay out one group of columns a label, side by side a series; labels at the `marked` places, or all."""
    most = max([1, *(figure for one in series for figure in one)])
    step = WIDTH / max(1, len(labels))
    wide = step * 0.8 / len(series)
    bars = []
    for at, label in enumerate(labels):
        for number, figures in enumerate(series):
            tall = HEIGHT * figures[at] / most
            if figures[at]:
                tall = max(tall, 1.5)
            left = at * step + step * 0.1 + number * wide
            bars.append(
                Bar(
                    round(left, 2),
                    round(HEIGHT - tall, 2),
                    round(wide, 2),
                    round(tall, 2),
                    number + 1,
                    f"{label}: {figures[at]}",
                )
            )
    places = range(len(labels)) if marked is None else marked
    return Plot(bars, [Mark(round(at * step + step / 2, 2), labels[at]) for at in places], most)
