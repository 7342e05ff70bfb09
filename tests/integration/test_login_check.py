"""`manage.py check` says when the database login could step over the database's rules."""

from __future__ import annotations

import pytest
from django.db import connections

from backoffice.tenants import login_check


@pytest.mark.usefixtures("database")
def test_the_embedded_login_passes_both_checks() -> None:
    assert login_check.check_login(databases=["default"]) == []
    assert login_check.check_login_for_deployment() == []


@pytest.mark.usefixtures("database")
def test_the_owner_is_warned_of_and_an_error_for_deployment() -> None:
    connections["default"].close()
    login = connections["default"].settings_dict
    kept = dict(login)
    owner = connections["owner"].settings_dict
    login.update(USER=owner["USER"], PASSWORD=owner["PASSWORD"])
    try:
        warned = login_check.check_login(databases=["default"])
        failed = login_check.check_login_for_deployment()
    finally:
        connections["default"].close()
        login.update(kept)
    words = [
        "The database login 'backoffice_owner' owns the audit table.",
        "The database login 'backoffice_owner' is no member of backoffice_app.",
    ]
    assert [(m.id, m.msg) for m in warned] == [("tenants.W001", text) for text in words]
    assert [(m.id, m.msg) for m in failed] == [("tenants.E001", text) for text in words]
