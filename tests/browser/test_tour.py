"""Every page of the product, filled and empty: accessible, within its width, in light and dark and on a phone.

The pictures lie in `screenshots/tour/`, to be looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page

from backoffice.tenants.models import Tenant, User
from tests import factories
from tests.making_company import make_company

LOOKS = {"light": (1280, False), "dark": (1280, True), "phone": (400, False)}
EMPTY = (
    "",
    "queues/payouts/",
    "queues/payouts/overview/",
    "queues/rules/payout.release-risk-score/",
    "queues/score-challenges/",
    "plans/",
    "exports/",
    "reports/",
    "jobs/",
    "notices/",
    "schedules/",
    "people/",
    "devices/",
)


@pytest.fixture
def look(accessible: Callable[[Page], None], fits: Callable[[Page], None], shoot: Callable[[Page, str], None]) -> Any:
    """Open an address, take its picture, and let axe and the width judge it; all faults are told together."""
    faults: list[str] = []

    def at(page: Page, address: str, name: str, *, status: int = 200) -> None:
        answer = page.goto(address)
        assert answer is not None and answer.status == status, (address, answer and answer.status)
        shoot(page, f"tour/{name}")
        for judge in (accessible, fits):
            try:
                judge(page)
            except AssertionError as error:
                faults.append(f"{name}: {error}")

    yield at
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("how", LOOKS)
def test_every_page_is_accessible_and_fits(
    how: str,
    tenant: Tenant,
    client_for: Callable[..., Any],
    page_for: Callable[..., Page],
    open_page: Callable[..., Page],
    look: Any,
) -> None:
    width, dark = LOOKS[how]
    made = make_company(tenant=tenant, client=client_for)
    page = page_for(made.person, width=width, dark=dark)
    for name, address in made.pages.items():
        look(page, address, f"{name}-{how}", status=int(name[-3:]) if name.startswith("error") else 200)
    page = page_for(made.operator, width=width, dark=dark)
    for name, address in made.operator_pages.items():
        look(page, address, f"{name}-{how}")
    page = open_page(width=width, dark=dark)
    look(page, "/sign-in/", f"sign-in-{how}")
    look(page, f"/invitation/{made.token}/", f"invitation-{how}")
    look(page, "/invitation/never/", f"invitation-never-{how}", status=404)


@pytest.mark.parametrize("how", ["light", "phone"])
def test_every_empty_page_is_accessible_and_says_what_to_do(
    how: str, tenant: Tenant, make_person: Callable[..., User], page_for: Callable[..., Page], look: Any
) -> None:
    width, dark = LOOKS[how]
    person = make_person(roles=("supervisor", "finance", "analyst"), name="Ada Lovelace")
    factories.make_person(tenant=tenant, name="Ben Okafor")
    page = page_for(person, width=width, dark=dark)
    for path in EMPTY:
        look(page, f"/t/{tenant.slug}/{path}", f"empty-{path.strip('/').replace('/', '-') or 'front'}-{how}")
