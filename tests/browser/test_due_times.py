"""Due times as staff and a supervisor see them: the list, the filter, an item, the working hours, the overview."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from playwright.sync_api import Page, expect

from backoffice import clock
from backoffice.tenants.models import Tenant, User
from queues.models import Dispute, WorkingCalendar
from tests.integration.test_due_times import kept
from tests.making_items import make_dispute, make_rates, score


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (400, False)])
def test_what_is_due_is_found_explained_and_answered(
    width: int,
    dark: bool,
    tenant: Tenant,
    make_person: Callable[..., User],
    page_for: Callable[..., Page],
    accessible: Callable[[Page], None],
    fits: Callable[[Page], None],
    shoot: Callable[[Page, str], None],
) -> None:
    make_rates(tenant=tenant)
    WorkingCalendar.objects.create(tenant=tenant, hours=[[[0, 1440]]] * 7)
    made = [
        make_dispute(tenant=tenant, reference=f"D-{number}", opened_at=clock.now() - timedelta(minutes=minutes))
        for number, minutes in enumerate((600, 245, 239, 200, 5, 30))
    ]
    waits = {"first_answered_at": clock.now(), "answered_at": clock.now(), "waiting_since": clock.now()}
    Dispute.objects.filter(pk=made[5].pk).update(**waits)
    for one in made:
        kept(one)
    score("disputes")
    page = page_for(make_person(roles=("supervisor",), name="Chi Obi"), width=width, dark=dark)
    name = f"due-{width}{'-dark' if dark else ''}"
    page.goto("/t/acme/queues/disputes/")
    expect(page.get_by_text("overdue by 6 hours")).to_be_visible()
    page.get_by_label("Due", exact=True).select_option("1h")
    page.get_by_role("button", name="Apply").click()
    page.wait_for_url("**due=1h**")
    assert page.locator("tr[data-row] .row-title").all_inner_texts() == ["D-0", "D-1", "D-2", "D-3"]
    shoot(page, f"{name}-list")
    accessible(page)
    fits(page)
    page.get_by_role("button", name="Claim next").click()
    expect(page.get_by_role("heading", name="D-0")).to_be_visible()
    expect(page.get_by_text("It stops with the first answer to the customer.")).to_be_visible()
    page.get_by_text("All clocks").click()
    shoot(page, f"{name}-item")
    accessible(page)
    fits(page)
    page.get_by_role("button", name="Answered, the customer must act").click()
    expect(page.get_by_text("No due time while it waits for the customer.")).to_be_visible()
    shoot(page, f"{name}-waits")
    accessible(page)
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(page.get_by_text("First response: within 4 hours of")).to_be_visible()
    page.goto("/t/acme/queues/disputes/overview/")
    expect(page.get_by_role("link", name="2", exact=True).first).to_be_visible()
    shoot(page, f"{name}-overview")
    page.goto("/t/acme/calendar/")
    page.get_by_label("Monday").fill("9-12, 11-17")
    page.get_by_role("button", name="Set the hours").click()
    expect(page.get_by_text("11:00–17:00 overlaps the hours before it.")).to_be_visible()
    shoot(page, f"{name}-hours")
    accessible(page)
    fits(page)
    page.get_by_label("Monday").fill("9:00–12:30, 13:30–17:00")
    page.get_by_label("Monday").press("Enter")
    expect(page.get_by_text("The working hours are set.")).to_be_visible()
    accessible(page)
