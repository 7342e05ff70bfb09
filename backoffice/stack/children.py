"""Start processes that die with this one, and stop them."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from backoffice.stack import identity

PR_SET_PDEATHSIG = 1
LOG_LIMIT = 20_000_000
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Place:
    """Say where a child works, where its output goes, who it is and which open files it inherits."""

    folder: Path
    log: Path
    as_who: identity.Kind = "plain"
    keep: tuple[int, ...] = ()


def die_with(parent: int, sent: int = signal.SIGKILL) -> None:
    """Have the kernel end this process when its parent ends, and end now if it already has.

    The kernel forgets this when the process changes its user or namespace, so call it after that.
    """
    if sys.platform != "linux":
        return
    _libc.prctl(PR_SET_PDEATHSIG, int(sent), 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), sent)


def spawn(
    command: Sequence[str | Path],
    place: Place,
    *,
    environment: Mapping[str, str],
) -> subprocess.Popen[bytes]:
    """Start a child in a session of its own that is killed when this process ends.

    Its session keeps a Ctrl-C at the terminal from reaching it, so that it is stopped in order.
    The kernel ties the child to the starting thread, so only the main thread may start one.
    """
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError("only the main thread may start a child: it would die with its thread")
    parent = os.getpid()

    def prepare() -> None:
        os.umask(0o077)
        identity.enter(place.as_who)
        die_with(parent)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())

    output = _open_log(place.log)
    # A signal between the fork and the return would lose the child's id.
    held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # a fork beside threads: it only calls exec
            return subprocess.Popen(
                command,
                cwd=place.folder,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                pass_fds=place.keep,
                preexec_fn=prepare,
            )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
        os.close(output)


def ended(child: subprocess.Popen[bytes]) -> bool:
    """Say whether the child has ended; then whatever it left in its session is killed too."""
    if child.returncode is not None:
        return True
    if sys.platform == "darwin":  # which has no waitid in every Python supported here
        return child.poll() is not None
    # The id is kept (WNOWAIT) until the session is dealt with, so that it names nobody else.
    if os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        return False
    _kill_session(child)
    child.wait()
    return True


def stop(children: Sequence[tuple[subprocess.Popen[bytes], int]], *, within: float) -> None:
    """Send each child its signal, wait for all of them, and kill what is left after `within` seconds."""
    for child, sent in children:
        if not ended(child):
            child.send_signal(sent)
    until = time.monotonic() + within
    for child, _ in children:
        while not ended(child):
            if time.monotonic() > until:
                _kill_session(child)
                child.wait()
            time.sleep(0.02)


def _kill_session(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)


def last_line(log: Path) -> str:
    """Return the last line of a log, to say why a child ended."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except OSError:
        return ""
    return lines[-1].strip()[:300] if lines else ""


def _open_log(log: Path) -> int:
    if log.exists() and log.stat().st_size > LOG_LIMIT:
        log.replace(log.with_name(log.name + ".old"))
    return os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
