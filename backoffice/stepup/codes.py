"""Codes of RFC 6238: SHA-1, 6 digits, steps of 30 seconds, as every authenticator app reads them.

A code is exactly six ASCII digits. White space around it, as pasting leaves, is dropped; inner
spaces, full-width and other digits, and numbers without their leading zero are refused.
"""

from __future__ import annotations

import base64
import hmac
import re

import pyotp

STEP_SECONDS = 30
WINDOW = 1  # steps accepted on each side of the current one, for slow typing and drifting phones
_CODE = re.compile(r"[0-9]{6}")


def new_secret() -> str:
    """Make a secret of 160 bits, base32 without padding (RFC 4226, section 4)."""
    return pyotp.random_base32(32)


def canonical(secret: str) -> str:
    """Return a secret as people type it (lower case, groups, no padding) in its one form."""
    return re.sub(r"[\s-]", "", secret).upper().rstrip("=")


def step_at(unix_time: float) -> int:
    """Return the number of the step that holds this instant."""
    return int(unix_time // STEP_SECONDS)


def code_of(*, secret: str, step: int) -> str:
    """Return the code of one step."""
    return pyotp.TOTP(canonical(secret), interval=STEP_SECONDS).at(step * STEP_SECONDS)


def matching_step(*, secret: str, code: str, unix_time: float) -> int | None:
    """Return the step within the window whose code this is, in constant time; None when there is none."""
    code = code.strip(" \t\r\n")
    if not _CODE.fullmatch(code):
        return None
    now, found = step_at(unix_time), None
    for step in range(max(now - WINDOW, 0), now + WINDOW + 1):
        if hmac.compare_digest(code_of(secret=secret, step=step), code):
            found = step
    return found


def enrolment_uri(*, secret: str, issuer: str, account: str) -> str:
    """Return the otpauth address of the QR code: issuer and account percent-encoded, the issuer twice."""
    return pyotp.TOTP(canonical(secret), name=account, issuer=issuer).provisioning_uri()


def is_secret(text: str) -> bool:
    """Say whether the text is a base32 secret of at least 128 bits (RFC 4226, R6)."""
    bare = canonical(text)
    try:
        return len(base64.b32decode(bare + "=" * (-len(bare) % 8))) >= 16
    except ValueError:
        return False
