"""The product's own processes: the web server, the workers and the scheduler, kept running."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from backoffice.stack import children, state
from backoffice.stack.problems import StackProblem

STEADY = 60.0  # a process that lived this long failed for a new reason
LONGEST_WAIT = 30.0
STOP_WITHIN = 10.0  # a job that is cut off is taken up again by its lease
QUEUES = ("interactive", "bulk")


@dataclass
class Member:
    """One process of the crew."""

    name: str
    command: list[str | Path]
    keep: tuple[int, ...] = ()
    child: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    failures: int = 0
    again_at: float = 0.0
    extra: dict[str, str] = field(default_factory=dict)


class Preparation:
    """The database's preparation, which the web server's first process does."""

    def __init__(self, opening: int, result: int) -> None:
        self._opening, self._result = opening, result
        self._read = b""

    def begin(self) -> None:
        """Let it begin: the servers answer."""
        os.close(self._opening)

    def done(self) -> bool:
        """Say whether its report is complete, waiting for it no longer than a moment."""
        if not select.select([self._result], [], [], 0.1)[0]:
            return False
        received = os.read(self._result, 65536)
        self._read += received
        if received:
            return False
        os.close(self._result)
        return True

    def accounts(self) -> str:
        """Return what to tell about the demo's accounts; raise StackProblem when it failed."""
        report = json.loads(self._read or b"{}")
        if "accounts" in report:
            return str(report["accounts"])
        raise StackProblem(report.get("problem", "The web server could not start."))


class Crew:
    """Start the members, start again what ends by itself, and stop all of them in order."""

    def __init__(self, data: Path, *, say: Callable[[str], None]) -> None:
        self.logs = data / "logs"
        self.say = say
        self.members: list[Member] = []

    def serve(self, listener: int) -> Preparation:
        """Start the web server on an open socket. It prepares the database first, when it is told to."""
        gate, opening = os.pipe()
        result, report = os.pipe()
        command: list[str | Path] = [sys.executable, "-m", "gunicorn"]
        command += ["--config", "python:backoffice.stack.web", "--bind", f"fd://{listener}"]
        told = {"BACKOFFICE_GATE": str(gate), "BACKOFFICE_REPORT": str(report)}
        web = Member("web", command, keep=(listener, gate, report), extra=told)
        self._add(web)
        os.close(gate)
        os.close(report)
        # Started again, it finds the database as it should be.
        web.keep, web.extra = (listener,), {}
        return Preparation(opening, result)

    def work(self) -> None:
        """Start one worker for each queue, and the scheduler."""
        for queue in QUEUES:
            self._add(Member(f"worker-{queue}", [*self._manage(), "worker", queue]))
        self._add(Member("scheduler", [*self._manage(), "scheduler"]))

    def tend(self, now: float) -> None:
        """Start again what has ended, each time after a longer wait, and say so."""
        for member in self.members:
            if member.child is not None and children.ended(member.child):
                steady = now - member.started > STEADY
                member.failures = 1 if steady else member.failures + 1
                wait = min(2.0 ** (member.failures - 1), LONGEST_WAIT)
                member.again_at = now + wait
                said = children.last_line(self._log(member))
                self.say(
                    f"{member.name} ended (status {member.child.returncode}) and starts again in {wait:.0f} s; "
                    f"the last line of {self._log(member)}: {said}"
                )
                member.child = None
            if member.child is None and now >= member.again_at:
                self._start(member, now)

    def has_ended(self, name: str) -> bool:
        """Say whether a member that was started is no longer running."""
        return any(m.name == name and (m.child is None or children.ended(m.child)) for m in self.members)

    def stop(self) -> None:
        """Stop the web server, then the scheduler, then the workers."""
        for turn in ("web", "scheduler", "worker"):
            running = [m.child for m in self.members if m.name.startswith(turn) and m.child is not None]
            children.stop([(child, signal.SIGTERM) for child in running], within=STOP_WITHIN)
        self.members.clear()

    def _add(self, member: Member) -> None:
        self.members.append(member)
        self._start(member, time.monotonic())

    def _start(self, member: Member, now: float) -> None:
        environment: Mapping[str, str] = {**os.environ, **member.extra}
        place = children.Place(state.PROJECT, self._log(member), keep=member.keep)
        member.child = children.spawn(member.command, place, environment=environment)
        member.started = now

    def _log(self, member: Member) -> Path:
        return self.logs / f"{member.name}.log"

    def _manage(self) -> list[str | Path]:
        return [sys.executable, state.PROJECT / "manage.py"]
