"""The environment is the one that pyproject.toml pins."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"
PIN = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)(?:\[[^\]]+\])?==(?P<version>[^\s;]+)$")


def _pins() -> dict[str, str]:
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))
    lines = [
        *project["project"]["dependencies"],
        *[line for group in project["dependency-groups"].values() for line in group],
        *project["tool"]["uv"]["constraint-dependencies"],
    ]
    found = {}
    for line in lines:
        match = PIN.match(line)
        assert match, f"{line!r} is not pinned with =="
        found[_canonical(match["name"])] = match["version"]
    return found


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_installed_package_has_the_pinned_version() -> None:
    pins = _pins()
    installed = {_canonical(d.metadata["Name"]): d.version for d in metadata.distributions()}
    unpinned = sorted(set(installed) - set(pins) - {"pip", "setuptools", "wheel"})
    assert not unpinned, f"installed but not pinned: {unpinned}; run `uv run python .ci/pin`"
    drifted = {
        name: (installed[name], pins[name]) for name in installed if pins.get(name, installed[name]) != installed[name]
    }
    assert not drifted, f"installed and pinned differ: {drifted}; run `uv sync`"


def test_no_lock_file_is_tracked() -> None:
    ignored = (PROJECT.parent / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert "uv.lock" in ignored
