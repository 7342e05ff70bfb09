"""Take a data folder for one running stack, or say in a sentence why it cannot be taken."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import time
from pathlib import Path

from backoffice.stack import binaries, state
from backoffice.stack.problems import StackProblem

ROOM = 500_000_000
REMAINS_WITHIN = 15.0


def take(data: Path) -> int:
    """Check the folder, lock it, and return the lock's descriptor.

    The servers inherit the descriptor, so the folder stays taken until the last of them is gone,
    however the process that started them ended. Closing it in all of them gives the folder back.
    """
    try:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        known = set(os.listdir(data))
        _check_format(data, known)
        lock = os.open(data / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as problem:
        raise StackProblem(
            f"The data folder {data} cannot be written to ({problem.strerror}); choose another with --data."
        ) from problem
    try:
        _lock(lock, data)
        _check_room(data)
        (data / "FORMAT").write_text(f"{state.FORMAT}\n", encoding="ascii")
    except OSError as problem:
        os.close(lock)
        raise StackProblem(f"The data folder {data} cannot be written to ({problem.strerror}).") from problem
    except BaseException:
        os.close(lock)
        raise
    return lock


def free_bytes(data: Path) -> int:
    """Return how many bytes can still be written where the folder is."""
    return shutil.disk_usage(data).free


def _check_format(data: Path, known: set[str]) -> None:
    if "FORMAT" in known:
        found = (data / "FORMAT").read_text(encoding="utf-8", errors="replace").strip()
        if found != state.FORMAT:
            raise StackProblem(
                f"The data folder {data} was made by another version of Backoffice (format {found[:20]}, this one "
                f"reads {state.FORMAT}); use that version, or choose another folder with --data."
            )
    elif known - {"lock"}:
        raise StackProblem(
            f"The folder {data} is not empty and was not made by Backoffice; choose another with --data."
        )
    version = data / "postgres" / "PG_VERSION"
    if version.exists():
        major = version.read_text(encoding="ascii", errors="replace").strip()
        if major != binaries.POSTGRES_MAJOR:
            raise StackProblem(
                f"The database in {data} belongs to PostgreSQL {major[:20]}, and this is PostgreSQL "
                f"{binaries.POSTGRES_MAJOR}; use the version that made it, or choose another folder with --data."
            )


def _check_room(data: Path) -> None:
    free = free_bytes(data)
    if free < ROOM:
        raise StackProblem(
            f"The disk of {data} has {free // 1_000_000} MB left, and at least {ROOM // 1_000_000} MB are needed; "
            "make room, or choose another folder with --data."
        )


def _lock(lock: int, data: Path) -> None:
    """Lock the file. A killed stack may take a moment to be gone; a living one is reported at once."""
    until = time.monotonic() + REMAINS_WITHIN
    while True:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        holder = os.pread(lock, 20, 0).decode("ascii", errors="replace").strip()
        if _is_alive(holder) or time.monotonic() > until:
            raise StackProblem(
                f"Backoffice is already running on the data folder {data} (process {holder or 'unknown'}); "
                "stop it, or choose another folder with --data."
            )
        time.sleep(0.05)
    os.truncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)


def _is_alive(number: str) -> bool:
    if not number.isdigit():
        return True  # it is only just writing its number
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    with contextlib.suppress(OSError, IndexError):
        # A zombie is no longer running, though its number is still taken.
        return Path(f"/proc/{number}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    return True
