"""Start real workers and schedulers that know the probe jobs, and wait for what they do."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[2]


def start(*arguments: str, log: Path | None = None) -> subprocess.Popen[bytes]:
    """Start `manage.py ...` in a session of its own, with the probe jobs."""
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.worker_settings"}
    with contextlib.ExitStack() as stack:
        out: Any = stack.enter_context(log.open("ab")) if log is not None else subprocess.DEVNULL
        return subprocess.Popen(
            [sys.executable, str(PROJECT / "manage.py"), *arguments],
            cwd=PROJECT,
            env=environment,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


@contextlib.contextmanager
def running(*arguments: str, log: Path | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """Run `manage.py ...` for the block, and end it afterwards whatever state it is in."""
    process = start(*arguments, log=log)
    try:
        yield process
    finally:
        stop(process)


def stop(process: subprocess.Popen[bytes], *, within: float = 15) -> int:
    """Ask it to end, wait, and kill it when it does not."""
    if process.poll() is None:
        process.send_signal(signal.SIGCONT)
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(within)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    return process.returncode


def wait_until(true: Callable[[], Any], *, within: float = 30, what: str = "") -> Any:
    """Wait until the function gives something true, and return it."""
    until = time.monotonic() + within
    while True:
        found = true()
        if found:
            return found
        if time.monotonic() > until:
            raise AssertionError(f"not within {within} s: {what or true}")
        time.sleep(0.03)


def is_alive(pid: int) -> bool:
    """Say whether the process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def children(pid: int) -> list[int]:
    """Return the process's children."""
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
