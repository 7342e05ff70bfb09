"""Jobs for the fault runs: each step has an audited effect inside and one outside, under a stable key."""

from __future__ import annotations

import os
import time
from pathlib import Path

from backoffice.errors import Refusal
from backoffice.jobs.base import Consequence, register
from backoffice.jobs.running import Run
from tests.probe_jobs.definitions.probes import CANARY, Headers, Probe, leave_mark

MANY = 50


def act_outside(key: str) -> None:
    """Do an effect in a place that knows no transactions, but keeps to its idempotency keys, as a rail does."""
    folder = Path(os.environ["FAULTS_FOLDER"])
    calls = os.open(folder / "calls", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(calls, f"{key}\n".encode())
    os.close(calls)
    try:
        os.close(os.open(folder / "done" / key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return
    effects = os.open(folder / "effects", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(effects, f"{key}\n".encode())
    os.close(effects)


class Effects(Probe):
    """Three steps of `pause` milliseconds. `times` attempts fail terribly; a `refuse` is for good."""

    max_attempts = MANY
    failure = Consequence("The effects are not all there.")

    def run(self, run: Run) -> None:
        for number, step in enumerate(("one", "two", "three")):
            with run.step(step) as todo:
                if todo:
                    self._step(run, step, number)

    def _step(self, run: Run, step: str, number: int) -> None:
        pause = int(run.arguments["pause"]) / 1000
        for line in range(4):
            run.report(line, 4)
            run.check_cancelled()
            time.sleep(pause / 4)
        run.guard()
        act_outside(f"{run.job.pk}-{step}")
        leave_mark(run, step)
        if number == 1 and run.job.attempt <= int(run.arguments["times"]):
            raise Headers(f"{CANARY} \x00 \udc80 " + "x" * int(run.arguments["size"]))
        if number == 1 and int(run.arguments["refuse"]):
            raise Refusal("refused", "It is refused. \x00")


@register
class InteractiveEffects(Effects):
    """The effects, on the one queue."""

    name = "probe.effects"


@register
class BulkEffects(Effects):
    """The effects, on the other queue."""

    name = "probe.bulk-effects"
    queue = "bulk"
