"""What a run starts belongs to the run: processes that leave its group come to the worker, which ends them."""

from __future__ import annotations

import ctypes
import os
import signal
from pathlib import Path

import structlog

log = structlog.get_logger(__name__)

PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None, use_errno=True)


def adopt() -> None:
    """Become the parent of every descendant whose own parent ends, in place of the system's first process."""
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end(*, spared: set[int]) -> None:
    """End this process's children but the spared ones, and in turn the children that those leave."""
    refused: set[int] = set()
    while left := _children() - spared - refused:
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)  # a child that is not waited for: the number is nobody else's
                os.waitpid(pid, 0)
            except (ProcessLookupError, ChildProcessError, PermissionError) as error:
                refused.add(pid)
                log.error("job.process-left", pid=pid, error=type(error).__name__)


def _children() -> set[int]:
    try:
        return {int(one) for one in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()}
    except OSError:
        return set()
