"""The staff's day by keyboard alone: no pointer event happens, and no key of the browser's is taken."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from backoffice.tenants.models import Tenant, User
from queues.models import Payout
from tests.browser.keyboard import WATCH, nothing_was_pointed_at, tab_to
from tests.making_items import make_payouts


def test_a_staff_day_needs_no_pointer(
    tenant: Tenant, make_person: Callable[..., User], page_for: Callable[..., Page]
) -> None:
    make_payouts(tenant=tenant, count=24)
    page = page_for(make_person(name="Ann Archer"))
    page.add_init_script(WATCH)
    heading = page.get_by_role("heading", level=1)
    page.goto("/t/acme/")
    tab_to(page, page.get_by_role("navigation", name="Pages").get_by_role("link", name="Payouts"))
    page.keyboard.press("Enter")
    expect(heading).to_have_text("Payouts")
    # Search, walk, select, let go.
    page.keyboard.press("/")
    expect(page.get_by_label("Search", exact=True)).to_be_focused()
    page.keyboard.type("zoe njx?")
    for _letter in " njx?":
        page.keyboard.press("Backspace")
    page.keyboard.press("Enter")
    expect(page.locator("[data-row]")).to_have_count(4)
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.locator("[data-selected-count]")).to_have_text("1")
    page.keyboard.press("x")
    page.keyboard.press("j")
    row = page.locator("[data-row].is-current")
    reference = row.locator("a[data-open]").inner_text()
    expect(row.locator("a[data-open]")).to_be_focused()
    # Keys of the browser stay its own.
    for chord in ("Control+j", "Alt+n", "Control+Shift+x", "Meta+c"):
        page.keyboard.press(chord)
    expect(row.locator("a[data-open]")).to_have_text(reference)
    # Open, claim, write, decide; what was done is said in a live region.
    page.keyboard.press("Enter")
    expect(heading).to_have_text(reference)
    page.keyboard.press("c")
    expect(page.get_by_text("You hold it")).to_be_visible()
    reason = page.get_by_label("Reason to hold")
    tab_to(page, reason)
    page.keyboard.type("Called them, no answer? n")
    expect(heading).to_have_text(reference)
    tab_to(page, page.get_by_role("button", name="Hold and next"))
    page.keyboard.press("Enter")
    expect(page.locator('[role="status"] .messagelist')).to_contain_text(f"{reference} is now held.")
    expect(heading).not_to_have_text(reference)
    assert Payout.objects.get(reference=reference).state == "held"
    # Skip, then the help: the focus goes in, stays in, and comes back.
    skipped = heading.inner_text()
    page.keyboard.press("s")
    expect(heading).not_to_have_text(skipped)
    keys = page.get_by_role("button", name="Keys")
    tab_to(page, keys)
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Keys")
    expect(dialog).to_be_visible()
    switch = dialog.get_by_label("Use single keys")
    if not switch.evaluate("element => element === document.activeElement"):
        tab_to(page, switch)
    page.keyboard.press("Space")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(keys).to_be_focused()
    current = heading.inner_text()
    for key in "ncsx":
        page.keyboard.press(key)
    expect(heading).to_have_text(current)
    page.keyboard.press("Enter")
    if not switch.evaluate("element => element === document.activeElement"):
        tab_to(page, switch)
    page.keyboard.press("Space")
    page.keyboard.press("Escape")
    # Back to the list by the keyboard, and the next by its key.
    tab_to(page, page.locator("a.crumb"), key="Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("table")).to_be_visible()
    page.keyboard.press("n")
    expect(page.get_by_text("You hold it")).to_be_visible()
    assert nothing_was_pointed_at(page)


def test_a_part_that_renews_itself_keeps_the_focus_and_says_its_state_once(
    tenant: Tenant, make_person: Callable[..., User], page_for: Callable[..., Page]
) -> None:
    page = page_for(make_person())
    page.goto("/t/acme/")
    page.evaluate(
        """() => {
          const part = document.createElement("div");
          part.id = "part";
          part.innerHTML = '<span data-announce>queued</span><button id="stop">Stop</button>';
          document.querySelector("#content").append(part);
          htmx.trigger(part, "htmx:load", { elt: part });
          document.querySelector("#stop").focus();
        }"""
    )
    said = page.locator("[data-said]")
    expect(said).to_have_text("")
    swap = """words => htmx.swap("#part", `<div id="part"><span data-announce>${words}</span>
      <button id="stop">Stop</button></div>`, { swapStyle: "outerHTML" })"""
    page.evaluate(swap, "queued")
    expect(page.locator("#stop")).to_be_focused()
    expect(said).to_have_text("")
    page.evaluate(swap, "running")
    expect(said).to_have_text("running")
    expect(page.locator("#stop")).to_be_focused()
