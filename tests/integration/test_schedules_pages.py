"""Operators see and operate schedules on the page and from a shell, with the same commands and audit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from backoffice import commands
from backoffice.audit.models import AuditEvent
from backoffice.commands import Actor
from backoffice.errors import Refusal
from backoffice.jobs.models import Job
from backoffice.schedules import (
    Gap,
    Guard,
    ManualJob,
    Overlap,
    RunsWhere,
    Spread,
    fanning_out,
    materialising,
    operating,
)
from backoffice.schedules.models import Misfire, Occurrence, Schedule
from backoffice.tenants import scope
from backoffice.tenants.models import PLATFORM_ID, Tenant, User
from tests import timetable
from tests.timetable import NOON, definition, job_of, row, run_job

MINUTE = timedelta(minutes=1)
SHELL = Actor.system("shell", acting_for="a test")
LOCAL = {
    "every": None,
    "cron": "30 9 * * *",
    "zone": "Europe/Berlin",
    "business_reason": "statements at half past nine",
    "gap": Gap.SHIFT,
    "overlap": Overlap.FIRST,
}


@pytest.fixture
def platform(database: None) -> Iterator[Tenant]:
    with scope.open(Tenant.objects.get(pk=PLATFORM_ID)) as tenant:
        yield tenant


@pytest.fixture
def operator(platform: Tenant, make_person: Callable[..., User]) -> User:
    return make_person(tenant=platform, roles=("operator",), time_zone="Asia/Tokyo")


def shell(*arguments: Any) -> str:
    out = StringIO()
    call_command("schedules", *[str(a) for a in arguments], stdout=out)
    return out.getvalue()


def dead_letter() -> Occurrence:
    schedule = row(cursor=materialising.database_now() - MINUTE)
    timetable.broken.add("pear")
    commands.dispatch(operating.run_schedule, actor=SHELL, key="run", schedule_id=schedule.pk)
    occurrence = Occurrence.objects.get()
    for _attempt in range(3):
        run_job(job_of(occurrence))
    timetable.broken.clear()
    return Occurrence.objects.get()


@pytest.mark.proves("jobs#provide-operational-recovery-procedures", "jobs#persist-occurrence-recovery-points")
def test_the_page_shows_next_instants_in_both_zones_the_last_outcome_and_the_runbook(
    tenant: Tenant, make_person: Callable[..., User], client_for: Callable[..., Client]
) -> None:
    supervisor = make_person(roles=("supervisor",))
    User.objects.filter(pk=supervisor.pk).update(time_zone="Asia/Tokyo")
    with definition(**LOCAL):
        schedule = row(cursor=materialising.database_now())
        dead_letter()
        client = client_for(supervisor, tenant)
        listed = client.get(f"/t/{tenant.slug}/schedules/").content.decode()
        assert "30 9 * * * (Europe/Berlin)" in listed and "1 dead letter" in listed
        page = client.get(f"/t/{tenant.slug}/schedules/{schedule.pk}/").content.decode()
        assert "09:30:00 CE" in page and ("16:30:00 JST" in page or "17:30:00 JST" in page)
        assert "manage.py schedules pause test.job" in page and "manage.py schedules replay" in page
        assert "statements at half past nine" in page and "Reference for the operators" in page
        assert "Run now" not in page  # a supervisor looks, an operator operates
        for act in ("pause", "run", "resume"):
            assert client.post(f"/t/{tenant.slug}/schedules/{schedule.pk}/{act}/", {"key": act}).status_code == 403


def test_what_others_may_not_see_they_do_not(
    tenant: Tenant, other_tenant: Tenant, make_person: Callable[..., User], client_for: Callable[..., Client]
) -> None:
    with definition():
        schedule = row()
        staff, outsider = make_person(), make_person(tenant=other_tenant, roles=("supervisor",))
        assert client_for(staff, tenant).get(f"/t/{tenant.slug}/schedules/").status_code == 403
        there = client_for(outsider, other_tenant)
        assert there.get(f"/t/{tenant.slug}/schedules/").status_code == 404
        assert there.get(f"/t/{other_tenant.slug}/schedules/{schedule.pk}/").status_code == 404


@pytest.mark.proves("jobs#audit-manual-replay")
def test_an_operator_pauses_resumes_runs_and_replays_any_tenants_schedule(
    tenant: Tenant, make_person: Callable[..., User], client_for: Callable[..., Client]
) -> None:
    with scope.unscoped(reason="the test needs the platform's tenant"):
        platform = Tenant.objects.get(pk=PLATFORM_ID)
    operator = make_person(tenant=platform, roles=("operator",))
    with definition():
        occurrence = dead_letter()
        schedule = occurrence.schedule
        client = client_for(operator, platform)
        base = f"/t/platform/schedules/{schedule.pk}"
        assert "Run now" in client.get(f"{base}/").content.decode()
        assert client.post(f"{base}/pause/", {"key": "p1"}).status_code == 302
        schedule.refresh_from_db()
        assert schedule.paused_by == operator.email
        page = client.get(f"{base}/").content.decode()
        assert "Paused by" in page and "Resume" in page
        assert client.post(f"{base}/resume/", {"key": "p2"}).status_code == 302
        assert client.post(f"{base}/nonsense/", {"key": "p3"}).status_code == 404
        assert client.get(f"/t/platform/schedules/occurrences/{occurrence.pk}/").status_code == 200
        assert (
            client.post(f"/t/platform/schedules/occurrences/{occurrence.pk}/replay/", {"key": "p4"}).status_code == 302
        )
        run_job(job_of(occurrence))
        assert Occurrence.objects.get(pk=occurrence.pk).state == "completed"
        shown = client.get(f"/t/platform/schedules/occurrences/{occurrence.pk}/").content.decode()
        assert "occurrence.replay" in shown and operator.email in shown and "replay of" in shown
        again = client.post(f"/t/platform/schedules/occurrences/{occurrence.pk}/replay/", {"key": "p5"}, follow=True)
        assert "Only a dead letter or a skipped occurrence is replayed." in again.content.decode()
    with scope.unscoped(reason="the test reads the platform's audit"):
        acts = set(AuditEvent.objects.filter(actor=operator.email).values_list("act", "outcome"))
    assert {("schedule.pause", "done"), ("schedule.resume", "done"), ("occurrence.replay", "done")} <= acts
    assert ("occurrence.replay", "refused") in acts


def test_what_passes_during_a_pause_is_counted_and_left_out_and_what_was_due_before_it_runs(tenant: Tenant) -> None:
    with definition(every=timedelta(seconds=1)):
        now = materialising.database_now()
        schedule = row(cursor=now - timedelta(seconds=5))
        commands.dispatch(operating.pause_schedule, actor=SHELL, key="p", schedule_id=schedule.pk)
        before = Occurrence.objects.count()
        assert before >= 5
        with pytest.raises(Refusal, match="already-paused"):
            commands.dispatch(operating.pause_schedule, actor=SHELL, key="p2", schedule_id=schedule.pk)
        Schedule.objects.update(cursor=now - timedelta(seconds=100))
        assert materialising.materialise(now=materialising.database_now()) == 0
        outcome = commands.dispatch(operating.resume_schedule, actor=SHELL, key="r", schedule_id=schedule.pk)
        schedule.refresh_from_db()
        assert outcome.data["left_out"] == schedule.skipped == Misfire.objects.get().count >= 100
        assert schedule.enumerated == schedule.materialised + schedule.skipped
        assert Occurrence.objects.count() == before and schedule.next_at > schedule.cursor


@pytest.mark.proves("jobs#provide-operational-recovery-procedures")
def test_the_runbooks_lines_work_in_a_shell(tenant: Tenant) -> None:
    with definition():
        occurrence = dead_letter()
        assert "test.job  tenant acme" in shell("list")
        shown = shell("show", "test.job")
        assert f"replay it: manage.py schedules replay {occurrence.pk}" in shown and "next: " in shown
        assert "schedule.pause" in shell("pause", "test.job") and "next paused" in shell("list")
        assert "schedule.resume" in shell("resume", "test.job")
        assert "occurrence.replay" in shell("replay", occurrence.pk)
        assert "schedule.run" in shell("run", "test.job", "--tenant", "acme")
        with pytest.raises(CommandError, match="has not ended"):
            shell("replay", occurrence.pk)
        with pytest.raises(CommandError, match="no schedule"):
            shell("pause", "test.none")
    with scope.unscoped(reason="the test reads the platform's audit"):
        event = AuditEvent.objects.get(act="occurrence.replay", outcome="done")
    assert event.actor == "system:shell" and event.acting_for.startswith("shell:")


@pytest.mark.proves("jobs#run-manual-jobs-under-their-guard")
def test_a_manual_job_runs_under_its_guard_and_inside_its_place(
    tenant: Tenant, other_tenant: Tenant, make_person: Callable[..., User], settings: Any
) -> None:
    Tenant.objects.filter(pk=other_tenant.pk).update(demo=True)

    def everyone(*, now: Any, after: str, limit: int) -> Any:
        tenants = Tenant.objects.filter(slug__in=["acme", "globex"], slug__gt=after).order_by("slug")
        return [timetable.Item(t.slug, {"fruit": t.slug}, t) for t in tenants]

    with scope.open(Tenant.objects.get(pk=PLATFORM_ID)) as platform:
        operator = make_person(tenant=platform, roles=("operator",))
        open_now = [False]
        guard = Guard(permission="schedules.operate_schedule", hours="at night", allows=lambda now: open_now[0])
        options = {"spread": Spread.PLATFORM, "runs_where": RunsWhere.DEMO, "guard": guard, "selects": everyone}
        with definition(kind=ManualJob, **options):
            fanning_out.fan_out(now=NOON)
            schedule = Schedule.objects.get(definition="test.job")
            assert (schedule.timing, schedule.next_at) == (None, None)

            def go(key: str, actor: Actor = Actor.person(operator)) -> None:  # noqa: B008  (made once for the test)
                commands.dispatch(operating.run_schedule, actor=actor, key=key, schedule_id=schedule.pk)

            with pytest.raises(Refusal, match="outside-hours"):
                go("1")
            open_now[0] = True
            with pytest.raises(Refusal, match="not-permitted"):
                go("2", Actor.person(make_person(tenant=platform, roles=("auditor",))))
            go("3")
            occurrence = Occurrence.objects.get()
            run_job(job_of(occurrence))
            after = Occurrence.objects.get()
            assert timetable.done == ["globex"]  # acme is no demo tenant
            assert (after.items_done, after.items_refused) == (1, 1)
        with definition(kind=ManualJob, **{**options, "runs_where": RunsWhere.EMBEDDED}):
            fanning_out.fan_out(now=NOON)
            settings.EMBEDDED_DATABASE = False
            with pytest.raises(Refusal, match="wrong-place"):
                go("4")
    assert Job.objects.count() == 0  # the platform's job, not the open tenant's
