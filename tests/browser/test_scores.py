"""The supervisor's look at a score: the item, the rule, in light, dark and on a phone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from playwright.sync_api import Page, expect

from backoffice import clock
from backoffice.tenants.models import Tenant, User
from queues.models import Dispute
from tests.making_items import make_dispute, make_rates, score


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (400, False)])
def test_a_supervisor_sets_a_score_challenges_an_input_and_tries_the_next_version(
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
    for number in range(30):
        made = make_dispute(
            tenant=tenant, currency=("EUR", "GBP", "KWD", "CHF")[number % 4], amount=50 + number * 61,
            opened_at=clock.now() - timedelta(days=number, hours=2),
        )  # fmt: skip
    score("disputes")
    Dispute.objects.filter(pk=made.pk).update(evidence_received_at=clock.now())
    score("disputes")
    page = page_for(make_person(roles=("supervisor",), name="Chi Obi"), width=width, dark=dark)
    name = f"score-{width}{'-dark' if dark else ''}"
    page.goto(f"/t/acme/queues/disputes/{made.pk}/")
    page.get_by_text("Set another score…").click()
    page.get_by_label("Score, 0 to 100").fill("95")
    page.get_by_label("Reason", exact=True).fill("The ombudsman asked")
    page.get_by_role("button", name="Set this score").click()
    expect(page.get_by_text("The ombudsman asked").first).to_be_visible()
    page.get_by_label("Challenge Amount").click()
    page.get_by_label("What is wrong with it").locator("visible=true").fill("It is in pence")
    page.get_by_role("button", name="Send to the rule's owner").locator("visible=true").click()
    expect(page.get_by_text("Amount challenged")).to_be_visible()
    shoot(page, f"{name}-item")
    accessible(page)
    fits(page)
    page.goto("/t/acme/queues/disputes/")
    expect(page.get_by_text("set by hand until")).to_be_visible()
    shoot(page, f"{name}-list")
    accessible(page)
    fits(page)
    page.goto("/t/acme/queues/rules/dispute.urgency-score/")
    page.get_by_text("The numbers", exact=True).click()
    page.get_by_role("button", name="Try it on the open items").click()
    expect(page.get_by_text("The largest moves")).to_be_visible()
    shoot(page, f"{name}-rule")
    accessible(page)
    fits(page)
    page.goto("/t/acme/queues/score-challenges/")
    page.get_by_role("link", name=made.reference).first.click()
    expect(page.get_by_text("What it is about")).to_be_visible()
    shoot(page, f"{name}-challenge")
    accessible(page)
    fits(page)
