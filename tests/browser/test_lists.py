"""The list's views and columns, by keyboard and on a phone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from backoffice.tenants.models import Tenant
from tests.making_items import make_payouts


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (400, False)])
def test_a_view_is_saved_and_shown_as_a_tab(
    tenant: Tenant,
    make_person: Callable[..., Any],
    page_for: Callable[..., Any],
    accessible: Callable[..., Any],
    fits: Callable[..., Any],
    shoot: Callable[..., Any],
    width: int,
    dark: bool,
) -> None:
    make_payouts(tenant=tenant, count=60)
    page = page_for(make_person(roles=("supervisor",)), width=width, dark=dark)
    page.goto(f"/t/{tenant.slug}/queues/payouts/?currency=GBP&cols=reference&cols=beneficiary&cols=amount&cols=account")
    page.get_by_text("Save this view").focus()
    page.keyboard.press("Enter")
    page.get_by_label("Name").fill("Pounds with accounts")
    page.get_by_label("Share with everybody").check()
    accessible(page)
    fits(page)
    shoot(page, f"view-save-{width}{'-dark' if dark else ''}")
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Save", exact=True).press("Enter")
    page.get_by_text("The view is saved.").wait_for()
    assert page.locator(".tabs a[aria-current]").inner_text().startswith("Pounds with accounts")
    page.locator("summary", has_text="Columns").press("Enter")
    accessible(page)
    fits(page)
    shoot(page, f"view-tab-{width}{'-dark' if dark else ''}")
