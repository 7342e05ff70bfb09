"""The command registry."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

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
) -> Callable[[Body], Command]:
    """Register the decorated function as a command.

    `permission` is what a person needs; None lets no person run it. `systems` are the names of the
    systems that may. `secret` arguments reach neither the audit nor the receipt. `unaudited` gives
    the reason where success writes no event. The body takes `actor` and keyword arguments.
    """
    if permission is None and not systems:
        raise ValueError(f"command {name} says nobody may run it")

    def register(body: Body) -> Command:
        if name in _commands:
            raise ValueError(f"two commands are named {name}")
        made = Command(name, body, permission, systems, frozenset(secret), unaudited)
        _commands[name] = made
        return made

    return register


def registered() -> Iterator[Command]:
    """Iterate over every command, by name."""
    return iter([_commands[name] for name in sorted(_commands)])
