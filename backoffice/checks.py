"""System checks over all definitions and commands."""

from __future__ import annotations

from typing import Any

from django.core.checks import CheckMessage, Error, register

from backoffice.commands import registered
from backoffice.registry import registries
from backoffice.tenants.roles import ROLE_PERMISSIONS


@register
def check_definitions(app_configs: Any = None, **kwargs: Any) -> list[CheckMessage]:
    """Ask every registered definition what is wrong with it."""
    return [message for registry in registries for message in registry.check()]


@register
def check_command_permissions(app_configs: Any = None, **kwargs: Any) -> list[CheckMessage]:
    """Report a command whose permission no role grants: nobody could ever run it."""
    granted = frozenset().union(*ROLE_PERMISSIONS.values())
    return [
        Error(
            f"Command {command.name} needs {command.permission!r}, which no role grants.",
            hint="Add it to a role in backoffice/tenants/roles.py.",
            id="commands.E001",
        )
        for command in registered()
        if command.permission is not None and command.permission not in granted
    ]
