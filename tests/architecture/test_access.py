"""Every address names who may; the absence of a name is a failure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.urls import URLPattern, URLResolver, get_resolver

from backoffice.pages import Page
from backoffice.tenants.models import TenantModel
from backoffice.tenants.roles import ROLE_PERMISSIONS

# Pages outside a tenant, or Django's own under the site's permission check.
# An invitation opens by its token alone, to whoever was handed it.
OPEN = {"sign-in", "sign-out", "home", "invitation"}


def _views(patterns: list[Any], prefix: str = "") -> Iterator[tuple[str, URLPattern]]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            if pattern.namespace != "admin":
                yield from _views(pattern.url_patterns, prefix + str(pattern.pattern))
        else:
            yield prefix + str(pattern.pattern), pattern


def test_every_page_names_a_permission_that_a_role_grants() -> None:
    granted = frozenset().union(*ROLE_PERMISSIONS.values())
    for address, pattern in _views(get_resolver().url_patterns):
        if pattern.name in OPEN:
            continue
        view = getattr(pattern.callback, "view_class", None)
        assert view is not None and issubclass(view, Page), f"{address} is not a Page"
        if view.required_permission is Page.required_permission:
            assert getattr(view, "permission", "") in granted, f"{address} names no permission that a role grants"


@pytest.mark.usefixtures("migrated")
def test_every_tenant_table_has_row_security(superuser: Any) -> None:
    for model in apps.get_models():
        if issubclass(model, TenantModel):
            table = model._meta.db_table
            row = superuser.execute(
                "SELECT relrowsecurity, relforcerowsecurity, (SELECT array_agg(polname::text ORDER BY polname)"
                " FROM pg_policy WHERE polrelid = c.oid) FROM pg_class c WHERE relname = %s",
                [table],
            ).fetchone()
            assert row == (True, True, ["app_rows", "reporting_rows"]), table
            assert model._meta.base_manager_name == "objects", model


@pytest.mark.usefixtures("migrated")
def test_no_tenant_column_is_ever_null(superuser: Any) -> None:
    nullable = superuser.execute(
        "SELECT table_name FROM information_schema.columns"
        " WHERE table_schema = 'public' AND column_name = 'tenant_id' AND is_nullable = 'YES'"
    ).fetchall()
    assert nullable == []
