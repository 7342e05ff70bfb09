"""Every page of the menu, for every role: accessible, no wider than a phone, nothing against the policy."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from backoffice.tenants.models import Tenant, User
from tests.making_items import make_dispute, make_payouts, make_review


@pytest.mark.parametrize("role", ["supervisor", "finance", "analyst", "auditor"])
def test_the_pages_of_a_role_are_accessible_and_fit(
    role: str,
    tenant: Tenant,
    make_person: Callable[..., User],
    page_for: Callable[..., Page],
    accessible: Callable[[Page], None],
    fits: Callable[[Page], None],
    shoot: Callable[[Page, str], None],
) -> None:
    make_payouts(tenant=tenant)
    make_dispute(tenant=tenant)
    make_review(tenant=tenant)
    page = page_for(make_person(roles=(role,), name="Ann Archer"), width=400)
    page.goto("/t/acme/")
    links = page.get_by_role("navigation", name="Pages").get_by_role("link").all()
    addresses = [link.get_attribute("href") or "" for link in links]
    assert len(addresses) > 2
    for address in addresses:
        answer = page.goto(address)
        assert answer is not None
        assert answer.status == 200, address
        shoot(page, f"{role}-{address.strip('/').replace('/', '-')}")
        accessible(page)
        fits(page)
