"""A package's public names, imported on first use.

Django imports an app's package before its models may load, so a package that is an app cannot
import at once what stands on models.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any


def exports(package: str, modules: dict[str, str]) -> Callable[[str], Any]:
    """Return a module `__getattr__` that finds each name in its submodule: {"dispatch": "dispatching"}."""

    def find(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{package}.{modules[name]}"), name)

    return find
