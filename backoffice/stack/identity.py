"""Who the servers run as. PostgreSQL refuses to run as root, so root has to become somebody else."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Literal

NOBODY = 65534
CLONE_NEWUSER = 0x10000000
PR_SET_KEEPCAPS = 8
PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE = 47, 2
CAP_DAC_OVERRIDE = 1
CAPABILITY_VERSION_3 = 0x20080522

Kind = Literal["plain", "namespace", "nobody"]
_libc = ctypes.CDLL(None, use_errno=True)


def choose() -> Kind:
    """Return how the servers can run here: as this person, in a user namespace, or as nobody.

    The namespace comes first: the files stay root's, and no folder on the way to them has to be
    open to others. Container engines often refuse it, and then the data is handed to nobody.
    """
    if os.geteuid() != 0:
        return "plain"
    if sys.platform == "linux" and _works(enter_namespace):
        return "namespace"
    return "nobody"


def enter(kind: Kind) -> None:
    """Become that identity; called in the child, before it becomes the server."""
    if kind == "namespace":
        enter_namespace()
    elif kind == "nobody":
        become_nobody()


def enter_namespace() -> None:
    """Enter a user namespace whose nobody is the user outside."""
    outside, group = os.geteuid(), os.getegid()
    if _libc.unshare(CLONE_NEWUSER) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{NOBODY} {outside} 1")
    Path("/proc/self/gid_map").write_text(f"{NOBODY} {group} 1")


def become_nobody() -> None:
    """Become the user nobody, keeping only the right to walk through folders closed to it.

    The programs and the data may lie below root's home, which nobody cannot enter.
    """
    linux = sys.platform == "linux"
    if linux:
        _libc.prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0)
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    if linux:
        header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
        only = 1 << CAP_DAC_OVERRIDE
        sets = (ctypes.c_uint32 * 6)(only, only, only, 0, 0, 0)
        # Without the right this goes on: open folders need none.
        if _libc.capset(header, sets) == 0:
            _libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_OVERRIDE, 0, 0)


def hand_over(folder: Path, kind: Kind) -> None:
    """Make the folder and all in it belong to the identity. Nothing is walked when it already does."""
    if kind == "plain":
        return
    owner = NOBODY if kind == "nobody" else os.geteuid()
    if folder.stat().st_uid == owner:
        return
    for below, _, files in os.walk(folder, topdown=False):
        for name in files:
            os.chown(Path(below) / name, owner, owner, follow_symlinks=False)
        # The folder itself comes last: its owner says that everything in it is done.
        os.chown(below, owner, owner)


def _works(attempt: Callable[[], None]) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # a fork beside threads: it only calls exec
        try:
            return subprocess.run(["/bin/true"], preexec_fn=attempt, check=False).returncode == 0
        except (OSError, subprocess.SubprocessError):
            return False
