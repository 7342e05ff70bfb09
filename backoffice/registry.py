"""Definitions: what a team adds, one small class in one file, found by itself.

Every module of every installed app's `definitions` package is imported when Django starts; each
registers its classes. `manage.py check` asks every definition what is wrong with it.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any, ClassVar, Generic, TypeVar

from django.apps import apps
from django.core.checks import CheckMessage, Error

from backoffice.errors import UnknownDefinition


class Definition:
    """Declare one thing by class attributes. `name` is unique within its registry."""

    name: ClassVar[str] = ""

    def check(self) -> list[CheckMessage]:
        """Collect what every `_check_<option>` method of this definition reports."""
        found: list[CheckMessage] = []
        for method in sorted(dir(self)):
            if method.startswith("_check_"):
                found.extend(getattr(self, method)())
        return found

    def describe(self) -> dict[str, Any]:
        """Return what `manage.py definitions` and the Definitions page show, JSON-safe."""
        return {"name": self.name}


D = TypeVar("D", bound=Definition)


class Registry(Generic[D]):
    """Hold the definitions of one kind, an instance each, by name."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._by_name: dict[str, D] = {}
        self._clashes: list[tuple[str, type, type]] = []
        registries.append(self)

    def register(self, cls: type[D]) -> type[D]:
        """Register the definition class (a decorator). A second class of one name fails the check."""
        instance = cls()
        earlier = self._by_name.get(instance.name)
        if earlier is not None and type(earlier) is not cls:
            self._clashes.append((instance.name, type(earlier), cls))
        self._by_name[instance.name] = instance
        return cls

    def get(self, name: str) -> D:
        """Return the definition of this name, or raise UnknownDefinition."""
        try:
            return self._by_name[name]
        except KeyError:
            raise UnknownDefinition(f"no {self.kind} is named {name!r}") from None

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __iter__(self) -> Iterator[D]:
        return iter([self._by_name[name] for name in sorted(self._by_name)])

    def check(self) -> list[CheckMessage]:
        """Report missing and repeated names, then what each definition reports of itself."""
        found: list[CheckMessage] = []
        for name, one, other in self._clashes:
            found.append(
                Error(
                    f"Two {self.kind} definitions are named {name!r}: {one.__qualname__} and {other.__qualname__}.",
                    hint="Rename one of them.",
                    obj=other,
                    id="registry.E001",
                )
            )
        for definition in self:
            if not definition.name:
                found.append(Error(f"This {self.kind} has no name.", obj=definition, id="registry.E002"))
            found.extend(definition.check())
        return found


registries: list[Registry[Any]] = []


def autodiscover() -> None:
    """Import every module of every installed app's `definitions` package, in the order of the apps."""
    for config in apps.get_app_configs():
        try:
            package = importlib.import_module(f"{config.name}.definitions")
        except ModuleNotFoundError as missing:
            if missing.name != f"{config.name}.definitions":
                raise
            continue
        for module in sorted(m.name for m in pkgutil.iter_modules(package.__path__)):
            importlib.import_module(f"{package.__name__}.{module}")
