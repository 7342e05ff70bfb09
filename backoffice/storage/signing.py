"""Links that open one object for a minute, and the name under which a browser saves it."""

from __future__ import annotations

import os
import unicodedata
from urllib.parse import quote

from django.conf import settings

from backoffice.storage import keys, objects

LINK_SECONDS = 60
# RFC 8187: what a value may hold unescaped, beside letters and digits.
_ATTR_CHARS = "!#$&+-.^_`|~"


def signs_links() -> bool:
    """Say whether browsers can reach the storage; without an address for them the product streams itself."""
    return bool(settings.S3_PUBLIC_ENDPOINT_URL)


def sign(*, key: str, filename: str, content_type: str, seconds: int = LINK_SECONDS) -> str:
    """Return a link to the object that expires after `seconds`. It is a secret: never logged, stored or mailed."""
    client = objects.connect(settings.S3_PUBLIC_ENDPOINT_URL, os.getpid())
    return client.generate_presigned_url(
        "get_object",
        Params={
            "Bucket": settings.S3_BUCKET,
            "Key": keys.check(key),
            "ResponseContentDisposition": disposition(filename),
            "ResponseContentType": content_type,
            "ResponseCacheControl": "no-store",
        },
        ExpiresIn=seconds,
    )


def disposition(filename: str) -> str:
    """Write the Content-Disposition of a download, after RFC 6266: the true name, and one in ASCII.

    Nothing of the name can end the header or a quoted string: control characters and path
    separators become "_" in both, and quotes and backslashes too in the second.
    """
    tidy = unicodedata.normalize("NFC", filename).encode("utf-8", "replace").decode("utf-8")
    safe = "".join("_" if unicodedata.category(c) in {"Cc", "Cf", "Zl", "Zp"} or c in "/\\" else c for c in tidy)
    safe = safe.strip(" .")[:150] or "download"
    plain = unicodedata.normalize("NFKD", safe).encode("ascii", "ignore").decode("ascii")
    plain = "".join("_" if c in "\"%;'" else c for c in plain).strip(" .") or "download"
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(safe, safe=_ATTR_CHARS)}"
