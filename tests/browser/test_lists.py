"""The list's views and columns, by keyboard and on a phone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from backoffice.commands import Actor
from backoffice.tenants.models import Tenant
from queues import claiming
from queues.models import Payout
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


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (400, False)])
def test_a_supervisor_sees_how_a_queue_stands(
    tenant: Tenant,
    make_person: Callable[..., Any],
    page_for: Callable[..., Any],
    accessible: Callable[..., Any],
    fits: Callable[..., Any],
    shoot: Callable[..., Any],
    width: int,
    dark: bool,
) -> None:
    made = make_payouts(tenant=tenant, count=60)
    for number, payout in enumerate(made):
        arrived = timezone.now() - timedelta(hours=number % 40, minutes=5)
        Payout.objects.filter(pk=payout.pk).update(loaded_at=arrived)
    person = make_person(roles=("supervisor",))
    for _number in range(2):
        claiming.claim_next(actor=Actor.person(person), queue="payouts", key=uuid4().hex)
    Payout.objects.filter(claim_holder=person).update(lease_until=timezone.now() + timedelta(minutes=9))
    page = page_for(person, width=width, dark=dark)
    page.goto(f"/t/{tenant.slug}/queues/payouts/")
    page.get_by_role("link", name="Overview").click()
    page.get_by_role("heading", name="Payouts: overview").wait_for()
    accessible(page)
    fits(page)
    shoot(page, f"overview-{width}{'-dark' if dark else ''}")
