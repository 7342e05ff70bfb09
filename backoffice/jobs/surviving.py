"""End what a worker's run had started, once the worker itself was killed: a program of the standard library alone.

The kernel ends a work-horse along with its parent, but not the processes that a handler had started in
turn. While the worker lives, it ends those itself (`watching`). For the case that it is killed, it starts
this beforehand: it sleeps until the worker is gone, ends the run's process group and whatever carries the
worker's mark in its environment, and is gone too.

It does not find a process that a handler started without `exec` and moved into a session of its own, and
it cannot act where it was killed as well, or where everything ends anyway (a container, the machine).
"""

from __future__ import annotations

import os
import secrets
import select
import signal
import subprocess
import sys
from pathlib import Path

MARK = "BACKOFFICE_WORKER"
ROUNDS = 50  # a process that forks while it is looked for is found in the next one
_SIZE = 8


class Survivor:
    """The worker's side: what runs is written where the other process reads it, which costs no call."""

    def __init__(self) -> None:
        os.environ[MARK] = mark = secrets.token_hex(16)
        self._running = os.memfd_create("running")
        self.run_in(0)
        me = os.pidfd_open(os.getpid())
        self.pid = _start_apart(self._running, me, mark)
        os.close(me)

    def run_in(self, pid: int) -> None:
        """Say in which process group the work-horse now runs; 0 for none."""
        os.pwrite(self._running, pid.to_bytes(_SIZE, "little"), 0)


def _start_apart(running: int, worker: int, mark: str) -> int:
    """Start the program as nobody's child here, so that the worker's children are its runs; return its process."""
    command = [sys.executable, "-I", "-S", __file__, str(running), str(worker), mark, str(os.getsid(0))]
    read, write = os.pipe()
    between = os.fork()
    if between == 0:
        pid = 0
        try:
            pid = subprocess.Popen(
                command, env={}, pass_fds=(running, worker), start_new_session=True, stdin=subprocess.DEVNULL
            ).pid
        finally:
            os.write(write, pid.to_bytes(_SIZE, "little"))
            os._exit(0)
    os.close(write)
    pid = int.from_bytes(os.read(read, _SIZE), "little")
    os.close(read)
    os.waitpid(between, 0)
    return pid


def wait_and_end(*, running: int, worker: int, mark: str, session: int) -> None:
    """Wait until the worker is gone, then end what its run left."""
    gone = select.poll()
    gone.register(worker, select.POLLIN)
    gone.poll()
    group = int.from_bytes(os.pread(running, _SIZE, 0), "little")
    for _round in range(ROUNDS):
        left = [pid for pid in _processes() if _belongs(pid, group, session) or _carries(pid, mark)]
        if not left:
            return
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                continue
        select.poll().poll(20)


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]


def _belongs(pid: int, group: int, session: int) -> bool:
    """Say whether the process is of the run's group. In another session its number would name a stranger's."""
    try:
        state, _parent, its_group, its_session = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[:4]
    except OSError:
        return False
    return group != 0 and (int(its_group), int(its_session)) == (group, session) and state not in "ZX"


def _carries(pid: int, mark: str) -> bool:
    try:
        return f"{MARK}={mark}\0".encode() in Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _running, _worker, _mark, _session = sys.argv[1:]
    wait_and_end(running=int(_running), worker=int(_worker), mark=_mark, session=int(_session))
