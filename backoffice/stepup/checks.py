"""Check the key that seals the secrets of the devices."""

from __future__ import annotations

from typing import Any

from cryptography.fernet import Fernet
from django.conf import settings
from django.core.checks import CheckMessage, Error, register

_HINT = "Make one with: python -c 'from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())'"


@register
def check_field_key(app_configs: Any = None, **kwargs: Any) -> list[CheckMessage]:
    """Report a missing or malformed FIELD_KEY; a folder in which no stack was started yet has none."""
    if settings.SECRET_KEY.startswith("no-stack-was-started-yet-"):
        return []
    if not settings.FIELD_KEY:
        return [Error("FIELD_KEY is not set: secrets of devices cannot be sealed.", hint=_HINT, id="stepup.E001")]
    try:
        Fernet(settings.FIELD_KEY)
    except ValueError:
        return [Error("FIELD_KEY is not a Fernet key.", hint=_HINT, id="stepup.E002")]
    return []
