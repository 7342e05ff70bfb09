"""The staff's way through a queue, by mouse and by keyboard, light, dark and on a phone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection
from playwright.sync_api import Page, expect

from backoffice.commands import Actor
from backoffice.tenants.models import Tenant, User
from queues import claiming
from queues.models import Payout
from tests.making_items import make_dispute, make_payouts, make_review, score

Shoot = Callable[[Page, str], None]
Check = Callable[[Page], None]


@pytest.mark.proves("jobs#show-the-score-beside-each-item")
def test_staff_claims_the_top_sees_why_approves_and_the_next_comes(
    tenant: Tenant, make_person: Callable[..., User], page_for: Callable[..., Page]
) -> None:
    items = make_payouts(tenant=tenant)
    page = page_for(make_person(name="Ann Archer"))
    page.goto("/t/acme/queues/payouts/")
    first = page.locator("[data-row]").first
    expect(first).to_contain_text("P-00002")
    expect(first).to_contain_text("risk 90: EUR 23,800.50 (+60), 31 days old (+30)")
    page.get_by_role("button", name="Claim next").click()
    expect(page.get_by_role("heading", name="P-00002")).to_be_visible()
    why = page.get_by_role("region", name="Why it is here")
    expect(why).to_contain_text("payout.release-risk-score")
    expect(why.get_by_role("row", name="Amount EUR 23,800.50 +60 / 60")).to_be_visible()
    expect(page.get_by_text("You hold it")).to_be_visible()
    page.get_by_role("button", name="Approve and next").click()
    expect(page.get_by_text("P-00002 is now approved.")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_have_text("P-00003")
    assert Payout.objects.get(pk=items[1].pk).state == "approved"


def test_the_last_item_leads_back_to_a_list_that_tells_the_truth(
    tenant: Tenant, make_person: Callable[..., User], page_for: Callable[..., Page], shoot: Shoot
) -> None:
    theirs = make_payouts(tenant=tenant, count=2)[1]
    other = make_person(name="Ben Okafor")
    claiming.claim(actor=Actor.person(other), queue="payouts", item_id=theirs.pk, key="b")
    page = page_for(make_person(name="Ann Archer"))
    page.goto("/t/acme/queues/payouts/")
    page.get_by_role("button", name="Claim next").click()
    page.get_by_role("button", name="Approve and next").click()
    expect(page.get_by_text("P-00001 is now approved.")).to_be_visible()
    expect(page.get_by_text("held by others")).to_be_visible()
    expect(page.locator("[data-row]")).to_contain_text("Ben Okafor until")
    shoot(page, "list-others-hold")
    page.get_by_role("link", name="P-00002").click()
    expect(page.get_by_text("Ben Okafor holds it")).to_be_visible()
    expect(page.get_by_role("button", name="Approve")).to_be_disabled()


def test_the_whole_way_works_by_keyboard(
    tenant: Tenant, make_person: Callable[..., User], page_for: Callable[..., Page]
) -> None:
    make_payouts(tenant=tenant)
    person = make_person()
    page = page_for(person)
    page.goto("/t/acme/queues/payouts/")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("j")
    expect(page.locator("[data-row].is-current")).to_contain_text("P-00003")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("P-00003")
    page.keyboard.press("c")
    expect(page.get_by_text("You hold it")).to_be_visible()
    page.get_by_label("Reason to Hold").fill("jnc? typed, not pressed")
    expect(page.get_by_role("heading", level=1)).to_have_text("P-00003")
    page.get_by_role("heading", level=1).click()
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    expect(dialog).to_be_visible()
    dialog.get_by_label("Use single keys").uncheck()
    dialog.get_by_role("button", name="Close").click()
    page.get_by_role("heading", level=1).click()
    page.keyboard.press("n")
    page.wait_for_timeout(300)
    expect(page.get_by_role("heading", level=1)).to_have_text("P-00003")
    page.get_by_role("button", name="Keys").click()
    dialog.get_by_label("Use single keys").check()
    dialog.get_by_role("button", name="Close").click()
    page.get_by_role("heading", level=1).click()
    page.keyboard.press("Control+n")
    page.keyboard.press("n")
    expect(page.get_by_role("heading", level=1)).to_have_text("P-00002")


def test_looking_never_claims(tenant: Tenant, make_person: Callable[..., User], page_for: Callable[..., Page]) -> None:
    item = make_payouts(tenant=tenant)[0]
    page = page_for(make_person())
    page.goto(f"/t/acme/queues/payouts/{item.pk}/")
    expect(page.get_by_text("Looking at it does not hold it")).to_be_visible()
    item.refresh_from_db()
    assert item.claim_holder_id is None
    assert item.claim_token == 0


def test_a_lost_claim_names_the_holder_and_keeps_what_was_typed(
    tenant: Tenant, make_person: Callable[..., User], page_for: Callable[..., Page], shoot: Shoot
) -> None:
    item = make_payouts(tenant=tenant, count=1)[0]
    ann, ben = make_person(name="Ann Archer"), make_person(name="Ben Okafor")
    claiming.claim(actor=Actor.person(ann), queue="payouts", item_id=item.pk, key="a")
    page = page_for(ann)
    page.goto(f"/t/acme/queues/payouts/{item.pk}/")
    page.get_by_label("Reason to Hold").fill("Called the supplier twice")
    _lapse(item)
    claiming.claim(actor=Actor.person(ben), queue="payouts", item_id=item.pk, key="b")
    page.get_by_role("button", name="Hold and next").click()
    expect(page.get_by_role("alert").first).to_contain_text("Ben Okafor holds this item until")
    expect(page.get_by_label("Reason to Hold")).to_have_value("Called the supplier twice")
    shoot(page, "item-lost")


def test_an_open_page_renews_silently_and_says_when_the_hold_is_gone(
    tenant: Tenant, make_person: Callable[..., User], page_for: Callable[..., Page]
) -> None:
    item = make_payouts(tenant=tenant, count=1)[0]
    ann, ben = make_person(name="Ann Archer"), make_person(name="Ben Okafor")
    claiming.claim(actor=Actor.person(ann), queue="payouts", item_id=item.pk, key="a")
    page = page_for(ann)
    page.clock.install()
    page.goto(f"/t/acme/queues/payouts/{item.pk}/")
    expect(page.get_by_role("timer")).to_contain_text(":")
    item.refresh_from_db()
    before = item.lease_until
    with page.expect_response("**/renew/") as answer:
        page.clock.run_for(16 * 60 * 1000)
    assert answer.value.status == 200
    item.refresh_from_db()
    assert before is not None
    assert item.lease_until is not None
    assert item.lease_until > before
    page.get_by_label("Reason to Hold").fill("half a sentence")
    _lapse(item)
    claiming.claim(actor=Actor.person(ben), queue="payouts", item_id=item.pk, key="b")
    page.clock.run_for(16 * 60 * 1000)
    expect(page.get_by_text("Ben Okafor holds this item until")).to_be_visible()
    expect(page.get_by_label("Reason to Hold")).to_have_value("half a sentence")
    expect(page.get_by_role("button", name="Approve and next")).to_be_disabled()


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (400, False), (400, True)])
def test_the_staffs_pages_are_accessible_and_fit(
    width: int,
    dark: bool,
    tenant: Tenant,
    make_person: Callable[..., User],
    page_for: Callable[..., Page],
    accessible: Check,
    fits: Check,
    shoot: Shoot,
) -> None:
    tenant.time_zone = "Europe/Berlin"
    tenant.save()
    items = make_payouts(tenant=tenant, count=60)
    make_dispute(tenant=tenant)
    make_review(tenant=tenant)
    score("disputes")
    ann, ben = make_person(name="Ann Archer"), make_person(name="Ben Okafor")
    claiming.claim(actor=Actor.person(ben), queue="payouts", item_id=items[7].pk, key="b")
    claiming.claim(actor=Actor.person(ann), queue="payouts", item_id=items[1].pk, key="a")
    page = page_for(ann, width=width, dark=dark)
    tail = f"{width}{'-dark' if dark else ''}"
    addresses = {
        "front": "/t/acme/",
        "list": "/t/acme/queues/payouts/",
        "list-empty": "/t/acme/queues/payouts/?q=nobody",
        "item": f"/t/acme/queues/payouts/{items[1].pk}/",
        "item-free": f"/t/acme/queues/payouts/{items[0].pk}/",
        "reviews": "/t/acme/queues/reviews/",
        "lookup": "/t/acme/admin/queues/payout/",
    }
    for name, address in addresses.items():
        page.goto(address)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        shoot(page, f"{name}-{tail}")
        accessible(page)
        fits(page)


def _lapse(item: Payout) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE queues_payout SET lease_until = clock_timestamp() - interval '1 second',"
            " claimed_at = clock_timestamp() - interval '1 hour' WHERE id = %s",
            [item.pk],
        )


def test_the_theme_follows_the_switch_and_is_remembered(
    tenant: Tenant, make_person: Callable[..., User], page_for: Callable[..., Page]
) -> None:
    make_payouts(tenant=tenant, count=1)
    page = page_for(make_person())
    page.goto("/t/acme/queues/payouts/")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="Toggle theme").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    page.reload()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light


def test_the_page_goes_on_without_its_script(
    tenant: Tenant, make_person: Callable[..., User], page_for: Callable[..., Page]
) -> None:
    make_payouts(tenant=tenant)
    page = page_for(make_person(), java_script_enabled=False)
    page.goto("/t/acme/queues/payouts/?currency=KWD")
    page.get_by_role("button", name="Claim next").click()
    page.get_by_role("button", name="Approve and next").click()
    expect(page.get_by_text("P-00004 is now approved.")).to_be_visible()


def test_a_skip_link_leads_past_the_menu(
    tenant: Tenant, make_person: Callable[..., User], page_for: Callable[..., Page]
) -> None:
    page = page_for(make_person())
    page.goto("/t/acme/queues/payouts/")
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to main content")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content-start"
    expect(page.get_by_role("navigation", name="Pages").locator("[aria-current]")).to_have_text("Payouts")
