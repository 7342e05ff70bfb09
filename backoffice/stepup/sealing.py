"""Seal secrets at rest with FIELD_KEY (Fernet: AES-128-CBC under HMAC-SHA256)."""

from __future__ import annotations

from cryptography.fernet import Fernet
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured


def _key() -> Fernet:
    if not settings.FIELD_KEY:
        raise ImproperlyConfigured("FIELD_KEY is not set: secrets of devices cannot be sealed.")
    return Fernet(settings.FIELD_KEY)


def seal(secret: str) -> str:
    """Encrypt the text for storing."""
    return _key().encrypt(secret.encode()).decode()


def unseal(sealed: str) -> str:
    """Decrypt what `seal` made."""
    return _key().decrypt(sealed.encode()).decode()
