"""The site's public address: what links in mail begin with."""

from __future__ import annotations

import pytest
from django.test import override_settings

from backoffice import checks


@pytest.mark.parametrize("address", ["https://a.example", "http://127.0.0.1:8000", "http://[::1]:80", ""])
def test_an_address_of_a_site_passes(address: str) -> None:
    with override_settings(PUBLIC_URL=address):
        assert checks.check_public_url() == []


@pytest.mark.parametrize(
    "address", ["a.example", "https://a.example/path", "https://a.example?x=1", "ftp://a.example", "https://"]
)
def test_what_is_no_address_of_a_site_is_named(address: str) -> None:
    with override_settings(PUBLIC_URL=address):
        assert [found.id for found in checks.check_public_url()] == ["backoffice.E001"]


def test_mail_without_an_address_is_named_before_a_deploy() -> None:
    with override_settings(EMAIL_HOST="mail.example", PUBLIC_URL=""):
        assert [found.id for found in checks.check_mail_has_an_address()] == ["backoffice.W001"]
    with override_settings(EMAIL_HOST="mail.example", PUBLIC_URL="https://a.example"):
        assert checks.check_mail_has_an_address() == []
