"""The supervisor's day by keyboard alone: look at the whole, share out, read what came of it, take over."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from backoffice.audit.models import AuditEvent
from backoffice.commands import Actor
from backoffice.tenants.models import Tenant, User
from queues import claiming
from queues.models import Payout
from tests.browser.keyboard import WATCH, nothing_was_pointed_at, tab_to
from tests.making_items import make_payouts

Check = Callable[[Page], None]
Shoot = Callable[[Page, str], None]


def test_a_supervisors_day_needs_no_pointer(
    tenant: Tenant,
    make_person: Callable[..., User],
    page_for: Callable[..., Page],
    shoot: Shoot,
    accessible: Check,
    fits: Check,
) -> None:
    make_payouts(tenant=tenant, count=12)
    ann, ben = make_person(name="Ann Archer"), make_person(name="Ben Okafor")
    sue = make_person(name="Sue Stone", roles=("supervisor",))
    held = claiming.claim_next(actor=Actor.person(ann), queue="payouts", key="k").data["item_id"]
    page = page_for(sue)
    page.add_init_script(WATCH)
    heading = page.get_by_role("heading", level=1)
    # How the queue stands: figures, plots, and their numbers as tables beside.
    page.goto("/t/acme/queues/payouts/")
    tab_to(page, page.get_by_role("link", name="Overview"))
    page.keyboard.press("Enter")
    expect(page.get_by_text("free + held + snoozed")).to_be_visible()
    expect(page.locator("svg[role=img]").first).to_be_visible()
    expect(page.get_by_role("table").first).to_be_visible()
    shoot(page, "supervisor-overview")
    accessible(page)
    tab_to(page, page.locator("a.crumb"), key="Shift+Tab")
    page.keyboard.press("Enter")
    # Choose three free ones and share them out between two people.
    expect(page.locator("[data-row]")).to_have_count(12)
    page.keyboard.press("j")
    for _row in range(3):
        page.keyboard.press("j")
        page.keyboard.press("x")
    expect(page.locator("[data-selected-count]").first).to_have_text("3")
    tab_to(page, page.get_by_role("button", name="Assign, snooze or release…").last)
    page.keyboard.press("Enter")
    expect(page.get_by_text("3 items chosen")).to_be_visible()
    for person in (ann, ben):
        tab_to(page, page.get_by_role("checkbox", name=str(person)))
        page.keyboard.press("Space")
    shoot(page, "supervisor-share-out")
    accessible(page)
    fits(page)
    tab_to(page, page.get_by_role("button", name="Assign 3 items"))
    page.keyboard.press("Enter")
    expect(page.get_by_text("3 of 3 items done")).to_be_visible()
    expect(page.get_by_role("table", name="What came of each item")).to_contain_text("given to Ben Okafor")
    shoot(page, "supervisor-shared-out")
    accessible(page)
    fits(page)
    assert sorted(Payout.objects.filter(claim_holder=one).count() for one in (ann, ben)) in ([1, 3], [2, 2])
    # Take over what Ann held from the start, with a reason.
    page.goto(f"/t/acme/queues/payouts/{held}/")
    expect(page.get_by_text("Ann Archer holds it")).to_be_visible()
    tab_to(page, page.get_by_text("Take over or move it, as a supervisor"))
    page.keyboard.press("Enter")
    form = page.locator("form", has=page.get_by_role("button", name="Move it"))
    tab_to(page, form.get_by_role("textbox"))
    page.keyboard.type("Ann is ill today")
    tab_to(page, page.get_by_role("button", name="Move it"))
    page.keyboard.press("Enter")
    expect(heading).to_be_visible()
    moved = AuditEvent.objects.filter(act="item.move", outcome="done", target=f"payout:{held}").get()
    assert moved.data["result"]["reason"] == "Ann is ill today" and moved.data["result"]["from"] == ann.pk
    assert nothing_was_pointed_at(page)
