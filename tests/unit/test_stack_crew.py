"""The product's processes are started again when they end, with patience, and stopped in order."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from backoffice.stack import children, crew


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def failing(tmp_path: Path, said: list[str]) -> crew.Crew:
    (tmp_path / "logs").mkdir()
    made = crew.Crew(tmp_path, say=said.append)
    made.members.append(crew.Member("worker-bulk", ["/bin/sh", "-c", "echo no luck; exit 3"]))
    return made


def test_a_member_that_keeps_ending_is_started_again_ever_later(failing: crew.Crew, said: list[str]) -> None:
    (member,) = failing.members
    now, waits = 1000.0, []
    for _ in range(7):
        failing.tend(now)
        ended(member)
        failing.tend(now + 1)
        waits.append(member.again_at - (now + 1))
        failing.tend(member.again_at - 0.01)
        assert member.child is None
        now = member.again_at
    assert waits == [1, 2, 4, 8, 16, 30, 30]
    assert said[0].startswith("worker-bulk ended (status 3) and starts again in 1 s; the last line of ")
    assert said[0].endswith("worker-bulk.log: no luck")


def test_a_member_that_ran_steadily_is_started_again_soon(failing: crew.Crew) -> None:
    (member,) = failing.members
    member.failures = 6
    failing.tend(1000.0)
    ended(member)
    failing.tend(1000.0 + crew.STEADY + 1)
    assert member.again_at == 1000.0 + crew.STEADY + 2


def test_the_web_server_stops_first_and_the_workers_last(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    made = crew.Crew(tmp_path, say=print)
    order = tmp_path / "order"
    for name in ("worker-bulk", "web", "scheduler", "worker-interactive"):
        script = f"trap 'echo {name} >> {order}; exit' TERM; echo up; while :; do sleep 0.01; done"
        made.members.append(crew.Member(name, ["/bin/sh", "-c", script]))
    made.tend(0)
    until = time.monotonic() + 10
    while sum((tmp_path / "logs" / f"{m.name}.log").read_text() == "up\n" for m in made.members) < 4:
        assert time.monotonic() < until
    made.stop()
    first, second, *rest = order.read_text().split()
    assert (first, second, set(rest)) == ("web", "scheduler", {"worker-bulk", "worker-interactive"})


def ended(member: crew.Member) -> None:
    """Wait for the member's end without taking note of it."""
    assert member.child is not None
    until = time.monotonic() + 10
    while (
        children.os.waitid(  # the same look that children.ended takes
            children.os.P_PID, member.child.pid, children.os.WEXITED | children.os.WNOWAIT | children.os.WNOHANG
        )
        is None
    ):
        assert time.monotonic() < until
