"""Children die with their parent, in every way the servers can run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from backoffice.stack import children, identity, ports, state

PARENT = """
import os, signal, sys
from pathlib import Path
from backoffice.stack import children
place = children.Place(Path(sys.argv[1]), Path(sys.argv[1]) / "log", as_who=sys.argv[2])
print(children.spawn(["sleep", "60"], place, environment={"PATH": "/usr/bin:/bin"}).pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def _is_running(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _until(true: object, within: float = 10) -> bool:
    until = time.monotonic() + within
    while time.monotonic() < until:
        if true():  # type: ignore[operator]  # a lambda
            return True
        time.sleep(0.02)
    return False


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's part is Linux's")
@pytest.mark.parametrize("kind", ["plain", "namespace", "nobody"])
def test_a_child_dies_with_a_killed_parent(tmp_path: Path, kind: identity.Kind) -> None:
    if kind != "plain" and os.geteuid() != 0:
        pytest.skip("only root becomes somebody else")
    if kind == "namespace" and identity.choose() != "namespace":
        pytest.skip("this machine refuses user namespaces")
    parent = subprocess.run(
        [sys.executable, "-c", PARENT, tmp_path, kind], cwd=state.PROJECT, stdout=subprocess.PIPE, check=False
    )
    assert parent.returncode == -signal.SIGKILL
    assert _until(lambda: not _is_running(int(parent.stdout)))


def test_stop_kills_what_does_not_stop_and_what_it_left_behind(tmp_path: Path) -> None:
    stubborn = "trap '' TERM; sleep 60 & echo $! > child; wait; wait; sleep 60"
    place = children.Place(tmp_path, tmp_path / "log")
    child = children.spawn(["/bin/sh", "-c", stubborn], place, environment={"PATH": "/usr/bin:/bin"})
    assert _until(lambda: (tmp_path / "child").exists() and (tmp_path / "child").read_text().strip())
    children.stop([(child, signal.SIGTERM)], within=0.2)
    assert child.returncode == -signal.SIGKILL
    assert _until(lambda: not _is_running(int((tmp_path / "child").read_text())))


def test_only_the_main_thread_starts_children(tmp_path: Path) -> None:
    raised: list[Exception] = []

    def start() -> None:
        try:
            children.spawn(["true"], children.Place(tmp_path, tmp_path / "log"), environment={})
        except RuntimeError as refused:
            raised.append(refused)

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    assert len(raised) == 1


def test_ports_stay_when_they_are_free_and_differ_when_not() -> None:
    names = ("one", "two", "two_grpc")
    beside = {"two_grpc": ("two", 10_000)}
    first = ports.choose(names, last={}, beside=beside)
    assert len(set(first.values())) == 3
    assert first["two_grpc"] == first["two"] + 10_000
    assert ports.choose(names, last=first, beside=beside) == first
    with ports.socket.socket() as other:
        other.bind((ports.LOOPBACK, first["one"]))
        other.listen()
        again = ports.choose(names, last=first, beside=beside)
    assert again["one"] != first["one"]
    assert again["two"] == first["two"]
