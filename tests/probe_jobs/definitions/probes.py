"""Jobs that misbehave on purpose, for tests with real workers. Their effects are audited commands."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

from django.db import connection

from backoffice import commands
from backoffice.commands import Actor, Outcome, command
from backoffice.errors import Refusal
from backoffice.jobs.base import Backoff, Consequence, JobKind, NoConsequence, Step, register
from backoffice.jobs.running import Run

SOON = Backoff(first=timedelta(milliseconds=200), most=timedelta(milliseconds=200))
CANARY = "canary-7c1f"


@command("probe.mark", systems=("probe",))
def mark(*, actor: Actor, mark: str) -> Outcome:
    """Leave one audit event: the effect that tests count."""
    return Outcome(target=f"probe:{mark}")


def leave_mark(run: Run, name: str) -> None:
    """Dispatch the effect under the run's fence."""
    actor = Actor.system("probe", acting_for=f"job:{run.job.pk}")
    commands.dispatch(mark, actor=actor, key=f"{run.job.pk}:{name}", guard=run.guard, mark=f"{run.job.pk}:{name}")


def wait_for(path: str) -> None:
    """Wait until the file is there."""
    while not Path(path).exists():
        time.sleep(0.02)


class Probe(JobKind):
    """What the probes share: short leases and waits."""

    title = "A probe"
    queue = "interactive"
    steps = (Step("one", "First"), Step("two", "Second"), Step("three", "Third"))
    backoff = SOON
    lease = timedelta(seconds=3)
    max_duration = timedelta(seconds=60)
    cancel_grace = timedelta(seconds=1)
    changes = "Its marks are left."
    failure = NoConsequence("It is a test.")


@register
class ThreeSteps(Probe):
    """Three steps and one effect in each."""

    name = "probe.steps"

    def run(self, run: Run) -> None:
        for step in ("one", "two", "three"):
            with run.step(step) as todo:
                if todo:
                    leave_mark(run, step)


@register
class Idle(Probe):
    """Three steps and no effect, for measuring."""

    name = "probe.idle"

    def run(self, run: Run) -> None:
        for step in ("one", "two", "three"):
            with run.step(step):
                pass


@register
class Weighted(Probe):
    """Steps with weights."""

    name = "probe.weighted"
    steps = (Step("one", "First", weight=10), Step("two", "Second", weight=85), Step("three", "Third", weight=100))

    def run(self, run: Run) -> None:
        for step in ("one", "two", "three"):
            with run.step(step):
                pass


@register
class Gated(Probe):
    """Say in a file that the second step runs and with which process, then wait there for another file."""

    name = "probe.gated"
    failure = Consequence("The gate stays shut.")

    def run(self, run: Run) -> None:
        folder = Path(str(run.arguments["folder"]))
        with run.step("one") as todo:
            if todo:
                leave_mark(run, "one")
        with run.step("two") as todo:
            if todo:
                entered = folder / f"entered-{run.fence}"
                entered.with_suffix(".part").write_text(str(os.getpid()))
                entered.with_suffix(".part").rename(entered)
                wait_for(str(folder / "go"))
                leave_mark(run, "two")
        with run.step("three") as todo:
            if todo:
                leave_mark(run, "three")


@register
class Refused(Probe):
    """Refuse for good."""

    name = "probe.refused"

    def run(self, run: Run) -> None:
        with run.step("one"):
            raise Refusal("no-such-account", "The account is closed.\x00")


class Headers(Exception):
    """An exception that carries what must not be kept."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.headers = {"Authorization": words}


@register
class Flaky(Probe):
    """Fail with secrets, NUL, a lone surrogate and much text, `times` times, then succeed."""

    name = "probe.flaky"

    def run(self, run: Run) -> None:
        with run.step("one") as todo:
            if todo:
                leave_mark(run, "one")
        if run.job.attempt <= int(run.arguments["times"]):
            raise Headers(f"{CANARY} \x00 \udc80 " + "x" * int(run.arguments.get("size", 10)))
        for step in ("two", "three"):
            with run.step(step):
                pass


@register
class Stubborn(Probe):
    """Never end, whatever is raised."""

    name = "probe.stubborn"
    max_duration = timedelta(seconds=2)

    def run(self, run: Run) -> None:
        while True:
            try:
                with run.step("one"):
                    time.sleep(600)
            except BaseException:  # noqa: S110  (it is what this probe is for)
                pass


@register
class LongQuery(Probe):
    """Wait in the database for a long time, deaf to everything."""

    name = "probe.long-query"

    def run(self, run: Run) -> None:
        with run.step("one"), connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(600)")


@register
class Polite(Probe):
    """Work for a minute and observe cancellation."""

    name = "probe.polite"

    def run(self, run: Run) -> None:
        with run.step("one"):
            for line in range(3000):
                run.report(line, 3000)
                run.check_cancelled()
                time.sleep(0.02)


@register
class Suicidal(Probe):
    """End its own process without a word, `times` times."""

    name = "probe.suicidal"

    def run(self, run: Run) -> None:
        if run.job.attempt <= int(run.arguments["times"]):
            os._exit(7)
        for step in ("one", "two", "three"):
            with run.step(step):
                pass


@register
class Family(Probe):
    """Start a process, and another in a session of its own; name both in a file, then wait."""

    name = "probe.family"
    max_duration = timedelta(seconds=20)

    def run(self, run: Run) -> None:
        folder = Path(str(run.arguments["folder"]))
        with run.step("one"):
            child = subprocess.Popen(["/bin/sleep", "600"])
            apart = "subprocess.Popen(['/bin/sleep', '601'], start_new_session=True, stdout=subprocess.DEVNULL)"
            command = f"import subprocess; print({apart}.pid)"
            told = subprocess.run([sys.executable, "-c", command], stdout=subprocess.PIPE, text=True, check=True)
            entered = folder / f"family-{run.fence}"
            entered.with_suffix(".part").write_text(f"{os.getpid()} {child.pid} {told.stdout}")
            entered.with_suffix(".part").rename(entered)
            if run.arguments.get("wait", 1):
                wait_for(str(folder / "go"))
