"""Finance selects approved payouts, over pages and by filter, and plans them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from backoffice.tenants.models import Tenant, User
from queues.money.models import Plan
from tests.making_items import make_payouts


@pytest.fixture
def page(tenant: Tenant, make_person: Callable[..., User], page_for: Callable[..., Page]) -> Page:
    make_payouts(tenant=tenant, count=60, state="approved", currency="GBP", amount=10)
    opened = page_for(make_person(roles=("finance",), name="Fay"))
    opened.goto("/t/acme/queues/payouts/")
    opened.get_by_role("link", name="Approved, ready to plan").click()
    return opened


def test_a_selection_survives_paging_and_is_planned_whole(page: Page, accessible: Callable[[Page], None]) -> None:
    page.locator("[data-select]").first.check()
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.locator("[data-selected-count]")).to_have_text("2")
    accessible(page)
    page.get_by_role("link", name="Next page").click()
    expect(page.locator("[data-selected-count]")).to_have_text("2")
    page.locator("[data-select]").first.check()
    page.get_by_role("link", name="Previous").click()
    expect(page.locator("[data-selected-count]")).to_have_text("3")
    page.locator("#selection .button--primary").click()
    page.wait_for_url("**/plans/*/")
    assert Plan.objects.get().line_count == 3


def test_all_that_match_is_more_than_the_page(page: Page, shoot: Callable[[Page, str], None]) -> None:
    page.get_by_label("all 60 that match").first.check()
    expect(page.locator("[data-selected-count]")).to_have_text("60")
    shoot(page, "finance-list")
    page.locator("#selection .button--primary").click()
    page.wait_for_url("**/plans/*/")
    assert Plan.objects.get().line_count == 60
    shoot(page, "finance-plan")
