"""Check that the app's database login cannot step over the database's own rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.db import connections

_LOGIN = """
SELECT rolsuper, rolbypassrls,
       EXISTS (SELECT 1 FROM pg_tables WHERE tablename = 'audit_auditevent' AND tableowner = current_user),
       pg_has_role(current_user, 'backoffice_app', 'MEMBER')
  FROM pg_roles WHERE rolname = current_user
"""


@register(Tags.database)
def check_login(app_configs: Any = None, databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """Warn when the login is a superuser, skips row security or owns the audit table (`check --database default`)."""
    if "default" not in (databases or []):
        return []
    return _report(_read_login(), as_error=False)


@register(Tags.security, deploy=True)
def check_login_for_deployment(app_configs: Any = None, **kwargs: Any) -> list[CheckMessage]:
    """Make the same an error under `check --deploy`."""
    return _report(_read_login(), as_error=True)


def _read_login() -> dict[str, bool]:
    with connections["default"].cursor() as cursor:
        cursor.execute(_LOGIN)
        superuser, bypasses, owns, member = cursor.fetchone()
    return {
        "is a superuser": superuser,
        "has BYPASSRLS": bypasses,
        "owns the audit table": owns,
        "is no member of backoffice_app": not member,
    }


def _report(faults: dict[str, bool], *, as_error: bool) -> list[CheckMessage]:
    made = Error if as_error else Warning
    user = connections["default"].settings_dict["USER"]
    return [
        made(
            f"The database login {user!r} {fault}.",
            hint="Sign in as a role made by the statements in the README.",
            id="tenants.W001" if not as_error else "tenants.E001",
        )
        for fault, present in faults.items()
        if present
    ]
