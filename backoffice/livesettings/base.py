"""The shape of a setting's definition."""

from __future__ import annotations

from typing import Any, ClassVar

from django.core.checks import CheckMessage, Error

from backoffice.registry import Definition, Registry


class Setting(Definition):
    """A whole number that operators change: its unit, default, bounds and what it governs."""

    default: ClassVar[int]
    minimum: ClassVar[int]
    maximum: ClassVar[int]
    unit: ClassVar[str]

    def _check_bounds(self) -> list[CheckMessage]:
        if self.minimum <= self.default <= self.maximum:
            return []
        return [Error(f"{self.name}: the default lies outside its bounds.", obj=self, id="livesettings.E001")]

    def _check_explained(self) -> list[CheckMessage]:
        if self.__doc__ and self.unit:
            return []
        return [Error(f"{self.name}: say in the docstring what it governs, and its unit.", id="livesettings.E002")]

    def describe(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "governs": " ".join((self.__doc__ or "").split()),
            "default": self.default,
            "minimum": self.minimum,
            "maximum": self.maximum,
            "unit": self.unit,
        }


settings: Registry[Setting] = Registry("setting")
register = settings.register
