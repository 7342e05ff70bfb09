"""Signing in, choosing a company, and the pages that say no."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from backoffice.tenants import scope
from backoffice.tenants.models import Membership, Tenant, User
from tests import factories


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_a_person_signs_in_after_a_wrong_password(
    width: int,
    dark: bool,
    tenant: Tenant,
    other_tenant: Tenant,
    open_page: Callable[..., Page],
    accessible: Callable[[Page], None],
    fits: Callable[[Page], None],
    shoot: Callable[[Page, str], None],
) -> None:
    person = factories.make_person(
        tenant=tenant, email="ann@example.com", name="Ann Archer", password="correct horse battery"
    )
    with scope.open(other_tenant):
        Membership.objects.create(tenant=other_tenant, user=person, roles=["staff"])
    page = open_page(width=width, dark=dark)
    page.goto("/sign-in/")
    accessible(page)
    fits(page)
    page.get_by_label("E-mail address").fill("ann@example.com")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_label("E-mail address")).to_have_value("ann@example.com")
    accessible(page)
    shoot(page, f"sign-in-{width}{'-dark' if dark else ''}")
    page.get_by_label("Password").fill("correct horse battery")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Choose a company")).to_be_visible()
    expect(page.get_by_role("link", name="Acme")).to_be_visible()
    accessible(page)
    fits(page)
    shoot(page, f"choose-{width}{'-dark' if dark else ''}")


@pytest.mark.parametrize("path", ["/t/globex/", "/t/nowhere/queues/payouts/", "/no-such-page/"])
def test_what_is_not_there_says_so_and_says_what_to_do(
    path: str,
    tenant: Tenant,
    make_person: Callable[..., User],
    page_for: Callable[..., Page],
    accessible: Callable[[Page], None],
    fits: Callable[[Page], None],
    shoot: Callable[[Page, str], None],
) -> None:
    page = page_for(make_person(), width=400)
    answer = page.goto(path)
    assert answer is not None
    assert answer.status == 404
    for heading in ("What happened", "What is safe", "What to do next"):
        expect(page.get_by_role("heading", name=heading)).to_be_visible()
    accessible(page)
    fits(page)
    shoot(page, "error-404")
