"""What else happens, in the same transaction, when a person is deactivated in the open tenant."""

from __future__ import annotations

from collections.abc import Callable

from backoffice.commands import Actor
from backoffice.tenants.models import User

Freeing = Callable[[Actor, User], int]

_freeing: list[Freeing] = []


def when_leaving(function: Freeing) -> Freeing:
    """Register what frees a leaving person's work in the open tenant; it returns how much that was (a decorator)."""
    _freeing.append(function)
    return function


def free_everything(*, actor: Actor, person: User) -> int:
    """Free whatever the person holds in the open tenant."""
    return sum(function(actor, person) for function in _freeing)
