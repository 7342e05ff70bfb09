"""The monitor's pages: who sees which jobs, what they say, and what can be done there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from backoffice import jobs
from backoffice.jobs import settling
from backoffice.jobs.base import Consequence, Step, kinds
from backoffice.jobs.models import Job
from backoffice.jobs.settling import Ground
from backoffice.jobs.states import JobState
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant, User
from tests.probe_jobs import claiming
from tests.probe_jobs.definitions import probes  # noqa: F401  (registers the probes)

Make = Callable[..., User]
SignIn = Callable[..., Client]


def _text(response: Any) -> str:
    return str(response.content.decode())


def test_a_tenants_people_see_their_jobs_and_nobody_elses(
    tenant: Tenant, other_tenant: Tenant, make_person: Make, client_for: SignIn
) -> None:
    member, staff = make_person(roles=("supervisor",)), make_person(roles=("staff",))
    outsider = make_person(roles=("supervisor",), tenant=other_tenant)
    job = jobs.submit(kind="probe.gated", key="a", arguments={"folder": "x"})
    for path in (f"/t/{tenant.slug}/jobs/", f"/t/{tenant.slug}/jobs/{job.pk}/"):
        assert client_for(member).get(path).status_code == 200
        assert client_for(staff).get(path).status_code == 403
        assert client_for(outsider).get(path).status_code == 404
    assert client_for(outsider).get(f"/t/{other_tenant.slug}/jobs/{job.pk}/").status_code == 404
    assert "A probe" not in _text(client_for(outsider).get(f"/t/{other_tenant.slug}/jobs/"))


def test_an_operator_on_the_platform_sees_the_jobs_of_all_tenants(
    tenant: Tenant, other_tenant: Tenant, make_person: Make, client_for: SignIn
) -> None:
    platform = Tenant.objects.get(slug="platform")
    operator = make_person(roles=("operator",), tenant=platform)
    one = jobs.submit(kind="probe.idle", key="a")
    with scope.open(other_tenant):
        two = jobs.submit(kind="probe.idle", key="a")
    page = _text(client_for(operator).get("/t/platform/jobs/"))
    assert tenant.name in page and other_tenant.name in page
    for job in (one, two):
        assert client_for(operator).get(f"/t/platform/jobs/{job.pk}/").status_code == 200
    response = client_for(operator).post(f"/t/platform/jobs/{two.pk}/cancel/", {"key": "k"})
    assert response.status_code == 302
    with scope.open(other_tenant):
        assert Job.objects.get(pk=two.pk).state == "cancelled"


@pytest.mark.proves("record#08")
def test_the_page_shows_the_steps_that_were_published_not_todays(
    tenant: Tenant, make_person: Make, client_for: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    person = make_person(roles=("supervisor",))
    job = jobs.submit(kind="probe.refused", key="a")
    claiming.run(job)
    kind = type(kinds.get("probe.refused"))
    monkeypatch.setattr(kind, "steps", (Step("other", "Renamed since"),))
    monkeypatch.setattr(kind, "title", "Renamed kind")
    monkeypatch.setattr(kind, "failure", Consequence("Another meaning."))
    page = _text(client_for(person).get(f"/t/{tenant.slug}/jobs/{job.pk}/"))
    for shown in ("A probe", "First", "Third", "The account is closed.", "It is a test.", f"{job.pk}/1"):
        assert shown in page
    for hidden in ("Renamed since", "Renamed kind", "Another meaning."):
        assert hidden not in page


def test_what_a_failure_means_is_said_before_it_and_after(
    tenant: Tenant, make_person: Make, client_for: SignIn
) -> None:
    person = make_person(roles=("supervisor",))
    job = jobs.submit(kind="probe.gated", key="a", arguments={"folder": "x"})
    path = f"/t/{tenant.slug}/jobs/{job.pk}/"
    assert "Should it fail: The gate stays shut." in _text(client_for(person).get(path))
    held = claiming.claim(job)
    settling.settle(job_id=job.pk, fence=held.job.fence, state=JobState.FAILED, ground=Ground.KEEPER, reason="No.")
    page = _text(client_for(person).get(path))
    assert "What this means: The gate stays shut." in page and "Should it fail" not in page


def test_the_live_part_is_fetched_alone_until_the_job_has_ended(
    tenant: Tenant, make_person: Make, client_for: SignIn
) -> None:
    person = make_person(roles=("supervisor",))
    job = jobs.submit(kind="probe.idle", key="a")
    path = f"/t/{tenant.slug}/jobs/{job.pk}/"
    part = _text(client_for(person).get(path, headers={"HX-Request": "true"}))
    assert "<html" not in part and 'hx-trigger="every 2s"' in part
    claiming.run(job)
    part = _text(client_for(person).get(path, headers={"HX-Request": "true"}))
    assert "hx-trigger" not in part and "100%" in part


def test_cancel_and_run_again_are_posts_for_who_asked(tenant: Tenant, make_person: Make, client_for: SignIn) -> None:
    owner, member = make_person(roles=("analyst",)), make_person(roles=("supervisor",))
    job = jobs.submit(kind="probe.idle", key="a", requested_by=owner)
    path = f"/t/{tenant.slug}/jobs/{job.pk}/"
    assert "Cancel this job" in _text(client_for(owner).get(path))
    assert "Cancel this job" not in _text(client_for(member).get(path))
    assert client_for(owner).get(f"{path}cancel/").status_code == 405
    assert client_for(member).post(f"{path}cancel/", {"key": "k"}).status_code == 403
    assert client_for(owner).post(f"{path}cancel/", {"key": "k"}).status_code == 302
    assert client_for(owner).post(f"{path}cancel/", {"key": "k2"}).status_code == 409
    assert "Run it again" in _text(client_for(owner).get(path))
    again = client_for(owner).post(f"{path}retry/", {"key": "k3"})
    new = Job.objects.get(replay_of=job)
    assert again.headers["Location"].endswith(f"/jobs/{new.pk}/")
    assert "Run it again" not in _text(client_for(owner).get(path))


def test_the_list_pages_by_key_and_filters_by_state(tenant: Tenant, make_person: Make, client_for: SignIn) -> None:
    person = make_person(roles=("supervisor",))
    made = [jobs.submit(kind="probe.idle", key=str(n)).pk for n in range(55)]
    path = f"/t/{tenant.slug}/jobs/"
    first = _text(client_for(person).get(path))
    assert f"before={made[5]}" in first and f"/jobs/{made[5]}/" in first and f"/jobs/{made[4]}/" not in first
    older = _text(client_for(person).get(f"{path}?before={made[5]}"))
    assert f"/jobs/{made[4]}/" in older and f"/jobs/{made[5]}/" not in older
    assert "No jobs here" in _text(client_for(person).get(f"{path}?state=failed"))
    for odd in ("?state=nonsense", "?before=%00", "?before=-1", "?before=99999999999999999999"):
        assert client_for(person).get(path + odd).status_code == 200


@pytest.mark.parametrize("where", ["tenant_id = 1", "tenant_id = 1 AND state = 'failed'", "state = 'failed'", "true"])
def test_the_lists_read_a_page_from_an_index_in_order(tenant: Tenant, where: str) -> None:
    with connection.cursor() as cursor:
        for other_way in ("enable_seqscan", "enable_bitmapscan", "enable_sort"):
            cursor.execute(f"SET {other_way} = off")  # a small table is read in other ways
        cursor.execute(f"EXPLAIN SELECT * FROM job WHERE {where} AND id < 500 ORDER BY id DESC LIMIT 51")
        plan = str(cursor.fetchall())
        cursor.execute("RESET ALL")
    assert "Index Scan" in plan and "Sort" not in plan
