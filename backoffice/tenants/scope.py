"""The open tenant scope of the current request, command or job."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

from backoffice.errors import NoTenantScope

if TYPE_CHECKING:
    from backoffice.tenants.models import Tenant


@dataclass(frozen=True)
class _Unscoped:
    reason: str


_scope: ContextVar[Tenant | _Unscoped | None] = ContextVar("tenant_scope", default=None)


@contextmanager
def open(tenant: Tenant) -> Iterator[Tenant]:
    """Open the tenant for the block. Scopes nest; the inner one counts."""
    token = _scope.set(tenant)
    try:
        yield tenant
    finally:
        _scope.reset(token)


@contextmanager
def unscoped(*, reason: str) -> Iterator[None]:
    """Let the block's queries see every tenant. Each caller is listed in a test, with its reason."""
    token = _scope.set(_Unscoped(reason))
    try:
        yield
    finally:
        _scope.reset(token)


def current() -> Tenant:
    """Return the open tenant, or raise NoTenantScope."""
    tenant = _scope.get()
    if tenant is None or isinstance(tenant, _Unscoped):
        raise NoTenantScope("no tenant scope is open: use scope.open(tenant)")
    return tenant


def tenant_filter() -> Tenant | None:
    """Return the tenant that queries are held to; None under `unscoped`; raise outside any scope."""
    tenant = _scope.get()
    if tenant is None:
        raise NoTenantScope("this query needs a tenant scope: use scope.open(tenant) or scope.unscoped(reason=...)")
    return None if isinstance(tenant, _Unscoped) else tenant
