"""Skip, snooze, hand over, undo: by mouse and by keyboard, on a phone, with nothing that axe finds grave."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from backoffice.commands import Actor
from backoffice.tenants.models import Tenant, User
from queues import claiming
from queues.models import Payout
from tests.making_items import make_dispute, make_payouts

Shoot = Callable[[Page, str], None]
Check = Callable[[Page], None]


def test_act_and_next_then_undo_brings_the_item_back(
    tenant: Tenant, make_person: Callable[..., User], page_for: Callable[..., Page], shoot: Shoot, accessible: Check
) -> None:
    items = make_payouts(tenant=tenant)
    page = page_for(make_person(name="Ann Archer"))
    page.goto("/t/acme/queues/payouts/")
    page.keyboard.press("n")
    page.get_by_role("button", name="Approve and next").click()
    expect(page.get_by_text("P-00002 is now approved.")).to_be_visible()
    shoot(page, "item-undo-offered")
    accessible(page)
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Undone: P-00002 is pending again, and you hold it.")).to_be_visible()
    assert Payout.objects.get(pk=items[1].pk).state == "pending"


def test_the_keyboard_skips_and_snoozes(
    tenant: Tenant, make_person: Callable[..., User], page_for: Callable[..., Page]
) -> None:
    make_payouts(tenant=tenant, count=2)
    page = page_for(make_person())
    page.goto("/t/acme/queues/payouts/")
    page.keyboard.press("n")
    expect(page.get_by_role("heading", level=1)).to_have_text("P-00002")
    page.keyboard.press("s")
    expect(page.get_by_role("heading", level=1)).to_have_text("P-00001")
    expect(page.get_by_text("You skipped P-00002")).to_be_visible()
    summary = page.get_by_text("Snooze", exact=True)
    summary.focus()
    page.keyboard.press("Enter")
    page.get_by_label("Tomorrow, 9:00").focus()
    page.keyboard.press("Space")
    page.get_by_label("Reason to snooze").focus()
    page.keyboard.type("waiting for the bank")
    page.get_by_role("button", name="Snooze it").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("P-00001 sleeps until ")).to_be_visible()
    page.keyboard.press("n")
    expect(page.get_by_role("alert")).to_contain_text("1 is snoozed until")
    expect(page.get_by_role("alert")).to_contain_text("you skipped 1, which returns at")


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (400, False)])
def test_every_form_beside_the_decision_fits_and_reads(
    tenant: Tenant,
    make_person: Callable[..., User],
    page_for: Callable[..., Page],
    shoot: Shoot,
    accessible: Check,
    fits: Check,
    width: int,
    dark: bool,
) -> None:
    items = make_payouts(tenant=tenant, count=7, beneficiary="Café Zoë & Söhne GmbH", account="GB29 NWBK 6016 1331")
    Payout.objects.filter(pk__in=[i.pk for i in items[:3]]).update(
        amount="23800.5", currency="EUR", opened_at=items[0].opened_at
    )
    make_dispute(tenant=tenant, customer="Café Zoë & Söhne GmbH")
    sue = make_person(name="Sue Stone", roles=("supervisor",))
    make_person(name="Ben Okafor")
    claiming.claim(actor=Actor.person(sue), queue="payouts", item_id=items[0].pk, key="k")
    page = page_for(sue, width=width, dark=dark)
    page.goto(f"/t/acme/queues/payouts/{items[0].pk}/")
    shoot(page, f"item-beside-closed-{width}{'-dark' if dark else ''}")
    for summary in page.locator(".panel > details > summary").all():
        summary.click()
    expect(page.get_by_role("button", name="Move it")).to_be_visible()
    shoot(page, f"item-beside-{width}{'-dark' if dark else ''}")
    accessible(page)
    fits(page)


@pytest.mark.parametrize("width", [1280, 400])
def test_a_supervisor_snoozes_many_at_once(
    tenant: Tenant,
    make_person: Callable[..., User],
    page_for: Callable[..., Page],
    shoot: Shoot,
    accessible: Check,
    fits: Check,
    width: int,
) -> None:
    items = make_payouts(tenant=tenant)
    ben, sue = make_person(name="Ben Okafor"), make_person(name="Sue Stone", roles=("supervisor",))
    claiming.claim(actor=Actor.person(ben), queue="payouts", item_id=items[1].pk, key="k")
    page = page_for(sue, width=width)
    page.goto("/t/acme/queues/payouts/")
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.locator("[data-selected-count]")).to_have_text("2")
    shoot(page, f"bulk-list-{width}")
    accessible(page)
    fits(page)
    page.get_by_role("button", name="Assign, snooze or release…").click()
    expect(page.get_by_text("2 items chosen")).to_be_visible()
    shoot(page, f"bulk-choice-{width}")
    accessible(page)
    fits(page)
    page.get_by_label("Reason to snooze").fill("the bank is closed")
    page.get_by_role("button", name="Snooze 2 items").click()
    expect(page.get_by_text("1 of 2 items done, 1 refused")).to_be_visible()
    expect(page.get_by_text("Ben Okafor holds this item until").first).to_be_visible()
    shoot(page, f"bulk-done-{width}")
    accessible(page)
    fits(page)
