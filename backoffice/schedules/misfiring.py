"""Decide which due instants run and which are left out: a pure function of the policy and now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from backoffice.schedules.base import Misfire
from backoffice.schedules.models import Misfire as MisfireRow


@dataclass(frozen=True)
class Decision:
    """The instants that run, oldest first, and the run of older ones that is left out, with its reason."""

    run: list[datetime]
    skipped: int = 0
    reason: str = ""
    first: datetime | None = None
    last: datetime | None = None


def decide(
    instants: Sequence[datetime], *, misfire: Misfire, grace: timedelta | None, cap: int | None, now: datetime
) -> Decision:
    """Apply the misfire policy to the due instants; what is left out is always the oldest part.

    len(instants) == len(run) + skipped. An instant that is due for the first time and on its own is
    no misfire under ONCE and INTERVAL; under SKIP it runs while it is not older than the grace.
    """
    if misfire is Misfire.ONCE:
        return _keep(instants, 1, MisfireRow.Reason.ONCE)
    if misfire is Misfire.INTERVAL:
        assert cap is not None
        return _keep(instants, cap, MisfireRow.Reason.CAP)
    assert grace is not None
    low, high = 0, len(instants)
    while low < high:
        middle = (low + high) // 2
        if now - instants[middle] > grace:
            low = middle + 1
        else:
            high = middle
    return _keep(instants, len(instants) - low, MisfireRow.Reason.GRACE)


def _keep(instants: Sequence[datetime], most: int, reason: str) -> Decision:
    skipped = max(len(instants) - most, 0)
    run = list(instants[skipped:])
    if not skipped:
        return Decision(run=run)
    return Decision(run=run, skipped=skipped, reason=reason, first=instants[0], last=instants[skipped - 1])
