"""The scheduler's turn: make rows, materialise what is due, open jobs. Called a few times a second."""

from __future__ import annotations

import time

from backoffice.schedules import fanning_out, materialising, opening

FAN_OUT_EVERY = 30.0  # seconds between two looks for new tenants and edited definitions
_MOST_TURNS = 50  # so that a flood of due schedules does not keep the loop from its other duties

_fan_out_at = 0.0


def tend() -> int:
    """Do one turn; return how many schedules and occurrences it moved.

    Any number of processes may do so at once: what one holds the others leave alone.

    It raises what the database raises: to wait out an outage is the loop's business. Nothing is lost
    by a turn that failed, because the cursor only moves with what it made.
    """
    global _fan_out_at
    now = materialising.database_now()
    if time.monotonic() >= _fan_out_at:
        fanning_out.fan_out(now=now)
        _fan_out_at = time.monotonic() + FAN_OUT_EVERY
    moved = 0
    for _turn in range(_MOST_TURNS):
        planned = materialising.materialise(now=now)
        moved += planned
        if planned < materialising.BATCH:
            break
    for _turn in range(_MOST_TURNS):
        opened = opening.open_waiting()
        moved += opened
        if not opened:
            break
    return moved
