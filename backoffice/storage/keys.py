"""Where an object lies: `tenants/<tenant>/<area>/<request>/<fence>/data`, and nowhere else."""

from __future__ import annotations

import re

from backoffice.errors import BackofficeError
from backoffice.tenants import scope

_AREA = re.compile(r"[a-z][a-z-]*")
_PARTS = re.compile(r"[A-Za-z0-9._/-]*")


class OutsideTenant(BackofficeError):
    """Stop the use of a key that does not lie under the open tenant's path."""


def object_key(*, area: str, request_id: int, fence: int) -> str:
    """Build the key of one run's output. A stale run has an older fence, so it never overwrites a newer one's."""
    return check(f"{folder(area=area, request_id=request_id)}{int(fence)}/data")


def folder(*, area: str, request_id: int) -> str:
    """Build the path under which every run of one request writes; it ends with a slash."""
    if not _AREA.fullmatch(area):
        raise OutsideTenant(f"{area!r} is not an area of a tenant's storage")
    return f"{_home()}{area}/{int(request_id)}/"


def check(key: str) -> str:
    """Return the key, or prefix, when it lies under the open tenant's path; raise OutsideTenant otherwise."""
    inside = key.startswith(_home()) and _PARTS.fullmatch(key)
    if not inside or "//" in key or {".", ".."} & set(key.split("/")):
        raise OutsideTenant(f"{key[:200]!r} does not lie under the open tenant's path")
    return key


def listed(key: str) -> str:
    """Return a key that a listing of the tenant's path named: what others put there may have any name."""
    if not key.startswith(_home()) or "//" in key or {".", ".."} & set(key.split("/")):
        raise OutsideTenant(f"{key[:200]!r} does not lie under the open tenant's path")
    return key


def _home() -> str:
    return f"tenants/{scope.current().slug}/"
