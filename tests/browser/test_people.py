"""The People page, the page of an invitation and one's own, in a browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from backoffice.tenants.models import Tenant


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (400, False)])
def test_a_supervisor_invites_and_the_person_joins(
    tenant: Tenant,
    make_person: Callable[..., Any],
    page_for: Callable[..., Any],
    open_page: Callable[..., Any],
    accessible: Callable[..., Any],
    fits: Callable[..., Any],
    shoot: Callable[..., Any],
    width: int,
    dark: bool,
) -> None:
    make_person(name="Grace Hopper")
    tail = f"{width}{'-dark' if dark else ''}"
    page = page_for(make_person(roles=("supervisor",), name="Ada Lovelace"), width=width, dark=dark)
    page.goto(f"/t/{tenant.slug}/people/")
    page.get_by_label("E-mail address").fill("new@example.com")
    page.get_by_role("region", name="Invite by link").get_by_label("staff").check()
    page.get_by_role("button", name="Make the link").press("Enter")
    link = page.locator(".secret").inner_text()
    page.get_by_label("Change Grace Hopper").press("Enter")
    accessible(page)
    fits(page)
    shoot(page, f"people-{tail}")
    joining = open_page(width=width, dark=dark)
    joining.goto(link)
    accessible(joining)
    fits(joining)
    shoot(joining, f"invitation-{tail}")
    joining.get_by_label("Your name").fill("New Person")
    joining.get_by_label("Password").fill("correct horse battery")
    joining.get_by_label("The same again").fill("correct horse battery")
    joining.get_by_role("button", name="Join").press("Enter")
    joining.get_by_role("heading", name="Sign in").wait_for()
    page.goto(f"/t/{tenant.slug}/me/")
    accessible(page)
    fits(page)
    shoot(page, f"me-{tail}")
