"""The jobs' pages and the notices in a real browser: on a phone, by name, and live."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection
from playwright.sync_api import Page, expect

from backoffice import jobs
from backoffice.jobs import settling
from backoffice.jobs.models import Job
from backoffice.jobs.running import Run
from backoffice.jobs.settling import Ground
from backoffice.jobs.states import JobState
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant, User
from tests.probe_jobs import claiming
from tests.probe_jobs.definitions import probes  # noqa: F401  (registers the probes)

Make = Callable[..., User]
Check = Callable[[Page], None]


@pytest.fixture
def made(tenant: Tenant, make_person: Make) -> tuple[User, Job, Job]:
    """Make a person with a job that failed and one that goes on."""
    person = make_person(roles=("analyst",), name="Ann Archer-Longname")
    failed = jobs.submit(kind="probe.refused", key="a", requested_by=person)
    claiming.run(failed)
    going = jobs.submit(kind="probe.polite", key="b", requested_by=person)
    return person, failed, going


@pytest.mark.parametrize("dark", [False, True])
def test_the_pages_fit_a_phone_and_are_accessible(
    tenant: Tenant,
    made: tuple[User, Job, Job],
    page_for: Callable[..., Page],
    accessible: Check,
    fits: Check,
    shoot: Callable[[Page, str], None],
    dark: bool,
) -> None:
    person, failed, going = made
    page = page_for(person, width=400, dark=dark)
    for name, path in {
        "jobs": "jobs/",
        "job-failed": f"jobs/{failed.pk}/",
        "job-going": f"jobs/{going.pk}/",
        "notices": "notices/",
    }.items():
        answer = page.goto(f"/t/{tenant.slug}/{path}")
        assert answer is not None and answer.status == 200
        shoot(page, f"{name}-{'dark' if dark else 'light'}")
        accessible(page)
        fits(page)


def test_a_notice_is_found_in_the_header_read_and_leads_to_its_job(
    tenant: Tenant, made: tuple[User, Job, Job], page_for: Callable[..., Page]
) -> None:
    person, failed, _going = made
    page = page_for(person)
    page.goto(f"/t/{tenant.slug}/jobs/")
    page.get_by_role("link", name="Notices 1 unread").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Notices")
    expect(page.get_by_text("Nothing else is changed by this failure. It is a test.")).to_be_visible()
    page.get_by_role("button", name=f"Mark as read the notice of job {failed.pk}").click()
    expect(page.get_by_role("link", name="Notices", exact=True)).to_be_visible()
    page.get_by_role("link", name="A probe").click()
    expect(page.get_by_text("The account is closed.").first).to_be_visible()
    expect(page.get_by_role("heading", name="Attempts")).to_be_visible()


def test_a_running_job_moves_without_a_reload_and_says_when_it_has_ended(
    tenant: Tenant, made: tuple[User, Job, Job], page_for: Callable[..., Page]
) -> None:
    person, _failed, going = made
    page = page_for(person)
    page.goto(f"/t/{tenant.slug}/jobs/{going.pk}/")
    page.evaluate("document.documentElement.dataset.first = 'yes'")
    with connection.cursor() as cursor:  # a browser takes its time
        cursor.execute("UPDATE job SET lease = '5 minutes' WHERE id = %s", [going.pk])
    held = claiming.claim(going)
    run = Run(job=held.job, steps=held.steps)
    with run.step("one"):
        run.report(40, 100)
        expect(page.locator("#job-state")).to_have_text("running")
        expect(page.get_by_text("40 / 100")).to_be_visible()
    expect(page.locator("#job").get_by_text("33%").last).to_be_visible()
    for step in ("two", "three"):
        with run.step(step):
            pass
    settling.settle(job_id=going.pk, fence=held.job.fence, state=JobState.SUCCEEDED, ground=Ground.LIVE)
    expect(page.locator("#job-state")).to_have_text("succeeded")
    assert page.evaluate("document.documentElement.dataset.first") == "yes"
    assert page.locator("#job").get_attribute("hx-trigger") is None


def test_an_operators_monitor_of_all_tenants_fits_a_phone(
    tenant: Tenant,
    made: tuple[User, Job, Job],
    make_person: Make,
    page_for: Callable[..., Page],
    accessible: Check,
    fits: Check,
) -> None:
    platform = Tenant.objects.get(slug="platform")
    with scope.open(platform):
        operator = make_person(roles=("operator",), tenant=platform)
    page = page_for(operator, width=400)
    for path in ("jobs/", f"jobs/{made[2].pk}/", "notices/"):
        answer = page.goto(f"/t/platform/{path}")
        assert answer is not None and answer.status == 200
        accessible(page)
        fits(page)
    page.goto(f"/t/platform/jobs/{made[2].pk}/")
    expect(page.get_by_text(tenant.name, exact=True)).to_be_visible()
    page.get_by_role("button", name="Cancel this job").click()
    expect(page.locator("#job-state")).to_have_text("cancelled")
