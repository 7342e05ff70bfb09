"""One signed S3 request with the standard library: enough to ask whether the storage works.

The product itself goes through `backoffice.storage`; this runs before Django does.
The signature is AWS's version 4, for a path without a query.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
from collections.abc import Mapping
from datetime import UTC, datetime
from urllib.parse import urlsplit

REGION = "us-east-1"


def send(
    *, endpoint: str, secrets: Mapping[str, str], method: str, path: str, body: bytes = b"", timeout: float = 10
) -> tuple[int, bytes]:
    """Send one request and return its status and body. Raises OSError when nobody answers."""
    host = urlsplit(endpoint).netloc
    now = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    digest = hashlib.sha256(body).hexdigest()
    headers = {"host": host, "x-amz-content-sha256": digest, "x-amz-date": now}
    names = ";".join(headers)
    canonical = "\n".join(
        [method, path, "", *(f"{name}:{value}" for name, value in headers.items()), "", names, digest]
    )
    scope = f"{now[:8]}/{REGION}/s3/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{now}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    key = f"AWS4{secrets['s3_secret']}".encode()
    for part in scope.split("/"):
        key = _mac(key, part)
    credential = f"Credential={secrets['s3_key']}/{scope}"
    signature = f"Signature={_mac(key, text).hex()}"
    headers["authorization"] = f"AWS4-HMAC-SHA256 {credential}, SignedHeaders={names}, {signature}"
    connection = http.client.HTTPConnection(host, timeout=timeout)
    try:
        connection.request(method, path, body=body, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    except http.client.HTTPException as problem:
        raise OSError(str(problem)) from problem
    finally:
        connection.close()


def _mac(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()
