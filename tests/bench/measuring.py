"""Time things against each other fairly: in turn, in one process, medians."""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable
from typing import Any


def seconds_in_turn(contenders: dict[str, Callable[[], Any]], *, rounds: int) -> dict[str, float]:
    """Run each contender once a round, after one uncounted round, and return each one's median seconds."""
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(rounds + 1):
        for name, run in contenders.items():
            started = time.perf_counter()
            run()
            if turn:
                taken[name].append(time.perf_counter() - started)
    return {name: statistics.median(values) for name, values in taken.items()}


def result(
    *, case: str, rows: int, unit: str, ours: float, peer: float | None, limit: float | None, smaller_is_better: bool
) -> dict[str, Any]:
    """Make one line of output from medians in the same unit."""

    def ratio(other: float | None) -> float | None:
        if not other or not ours:
            return None
        return round(other / ours if smaller_is_better else ours / other, 3)

    return {
        "case": case,
        "rows": rows,
        "unit": unit,
        "ours": round(ours, 3),
        "peer": round(peer, 3) if peer is not None else None,
        "limit": round(limit, 3) if limit is not None else None,
        "vs_peer": ratio(peer),
        "vs_limit": ratio(limit),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    }
