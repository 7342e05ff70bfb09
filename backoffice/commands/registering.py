"""The command registry."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from backoffice.errors import BackofficeError

Body = Callable[..., "Outcome"]


@dataclass(frozen=True)
class Outcome:
    """What a command did: its target ("payout:17"), JSON-safe data, and whether a receipt replayed it."""

    target: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    replayed: bool = False


@dataclass(frozen=True)
class Command:
    """One registered function that changes state."""

    name: str
    body: Body
    permission: str | None
    systems: tuple[str, ...]
    secret: frozenset[str]
    unaudited: str
    target: str | Callable[..., str] = ""

    def target_of(self, arguments: dict[str, Any]) -> str:
        """Name what the arguments are about, for a refusal; nothing where they do not say."""
        try:
            named = self.target(**arguments) if callable(self.target) else self.target.format(**arguments)
        except (BackofficeError, KeyError, TypeError):
            return ""
        return named[:120]

    def __call__(self, **arguments: Any) -> Outcome:
        raise TypeError(f"{self.name} runs through commands.dispatch only")


_commands: dict[str, Command] = {}


def command(
    name: str,
    *,
    permission: str | None = None,
    systems: tuple[str, ...] = (),
    secret: tuple[str, ...] = (),
    unaudited: str = "",
    target: str | Callable[..., str] = "",
) -> Callable[[Body], Command]:
    """Register the decorated function as a command.

    `permission` is what a person needs; None lets no person run it. `systems` are the names of the
    systems that may. `secret` arguments reach neither the audit nor the receipt. `unaudited` gives
    the reason where success writes no event. `target` names what a refusal is about, from the arguments:
    "payout:{item_id}", or a function of them. The body takes `actor` and keyword arguments.
    """
    if permission is None and not systems:
        raise ValueError(f"command {name} says nobody may run it")

    def register(body: Body) -> Command:
        if name in _commands:
            raise ValueError(f"two commands are named {name}")
        made = Command(name, body, permission, systems, frozenset(secret), unaudited, target)
        _commands[name] = made
        return made

    return register


def registered() -> Iterator[Command]:
    """Iterate over every command, by name."""
    return iter([_commands[name] for name in sorted(_commands)])
