"""System checks over all definitions and commands."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register

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


@register
def check_public_url(app_configs: Any = None, **kwargs: Any) -> list[CheckMessage]:
    """Report an address of the site that links in mail could not begin with."""
    parts = urlsplit(settings.PUBLIC_URL)
    bare = (
        parts.scheme in {"http", "https"} and parts.netloc and f"{parts.scheme}://{parts.netloc}" == settings.PUBLIC_URL
    )
    if not settings.PUBLIC_URL or bare:
        return []
    return [
        Error(
            f"PUBLIC_URL is {settings.PUBLIC_URL!r}, which is not the address of a site.",
            hint='Write the scheme and the host alone: "https://backoffice.example".',
            id="backoffice.E001",
        )
    ]


@register(deploy=True)
def check_mail_has_an_address(app_configs: Any = None, **kwargs: Any) -> list[CheckMessage]:
    """Report that mail goes out without knowing the site's address: its links would be missing."""
    if not settings.EMAIL_HOST or settings.PUBLIC_URL:
        return []
    return [
        Warning(
            "EMAIL_HOST is set and PUBLIC_URL is not, so that mail cannot link to the site.",
            hint='Set PUBLIC_URL to the address that people use: "https://backoffice.example".',
            id="backoffice.W001",
        )
    ]
