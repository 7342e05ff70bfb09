"""What can be wrong with the storage's addresses is said at start, not at the first download."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, register


@register
def check_public_endpoint(app_configs: Any = None, **kwargs: Any) -> list[CheckMessage]:
    """Report an address for browsers that no browser, or no content policy, would take."""
    address = settings.S3_PUBLIC_ENDPOINT_URL
    if not address:
        return []
    parts = urlsplit(address)
    if parts.scheme in {"http", "https"} and parts.hostname and not parts.query and parts.path in {"", "/"}:
        return []
    return [
        Error(
            "S3_PUBLIC_ENDPOINT_URL is not an address of the form https://host[:port].",
            hint="Set it to the storage's address as browsers reach it, or to nothing: the product then streams.",
            id="storage.E001",
        )
    ]
