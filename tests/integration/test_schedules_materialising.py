"""Every planned instant becomes one occurrence, and what is left out is counted."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextvars import copy_context
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import Sum

from backoffice.audit.models import AuditEvent
from backoffice.schedules import Gap, Overlap, StillGoing, base, fanning_out, materialising, opening
from backoffice.schedules import Misfire as Policy
from backoffice.schedules.models import Misfire, Occurrence, Schedule
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant
from tests import timetable
from tests.timetable import NOON, definition, row

WEEK = timedelta(days=7)
MINUTE = timedelta(minutes=1)


@pytest.fixture(autouse=True)
def _only_what_the_test_defines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base.jobs, "_by_name", {})


@pytest.fixture
def minutely(tenant: Tenant) -> Iterator[Any]:
    with definition() as job:
        yield job


def instants(schedule: Schedule) -> list[datetime]:
    return list(
        Occurrence.objects.filter(schedule=schedule).order_by("scheduled_at").values_list("scheduled_at", flat=True)
    )


def left_out(schedule: Schedule) -> dict[str, int]:
    return {m.reason: m.count for m in Misfire.objects.filter(schedule=schedule)}


@pytest.mark.proves("jobs#derive-stable-occurrence-identity", "jobs#persist-occurrence-state")
def test_each_instant_becomes_one_occurrence_however_often_it_is_planned(minutely: Any) -> None:
    schedule = row()
    for now in (NOON + MINUTE, NOON + MINUTE, NOON + 3 * MINUTE, NOON + 2 * MINUTE):
        materialising.materialise(now=now)
    assert instants(schedule) == [NOON + MINUTE * n for n in (1, 2, 3)]
    schedule.refresh_from_db()
    assert (schedule.cursor, schedule.next_at) == (NOON + 3 * MINUTE, NOON + 4 * MINUTE)
    occurrence = Occurrence.objects.earliest("scheduled_at")
    assert occurrence.identity == f"{schedule.pk}@2026-06-01T12:01:00+00:00"
    assert occurrence.state == Occurrence.State.SCHEDULED
    with pytest.raises(IntegrityError), transaction.atomic():
        Occurrence.objects.create(tenant=schedule.tenant, schedule=schedule, scheduled_at=occurrence.scheduled_at)


def test_the_cursor_outlives_the_rows_so_that_retention_makes_nothing_fire_twice(minutely: Any) -> None:
    schedule = row()
    materialising.materialise(now=NOON + 5 * MINUTE)
    Occurrence.objects.all().delete()
    Schedule.objects.update(next_at=NOON)
    materialising.materialise(now=NOON + 5 * MINUTE)
    assert instants(schedule) == []


@pytest.mark.proves("jobs#define-misfire-recovery")
@pytest.mark.parametrize(
    ("options", "runs", "out"),
    [
        ({"misfire": Policy.SKIP, "grace": timedelta(seconds=150), "cap": None}, 3, {"grace": 10_077}),
        ({"misfire": Policy.ONCE, "cap": None}, 1, {"once": 10_079}),
        ({"misfire": Policy.INTERVAL, "cap": 50}, 50, {"cap": 10_030}),
        ({"misfire": Policy.INTERVAL, "cap": 20_000}, 10_080, {}),
    ],
)
def test_a_week_of_downtime_follows_the_misfire_policy_and_the_counts_add_up(
    tenant: Tenant, options: dict[str, Any], runs: int, out: dict[str, int]
) -> None:
    with definition(**options):
        schedule = row()
        materialising.materialise(now=NOON + WEEK)
        schedule.refresh_from_db()
        planned = instants(schedule)
        assert planned == [NOON + WEEK - MINUTE * n for n in range(runs - 1, -1, -1)]
        assert left_out(schedule) == out
        assert schedule.enumerated == 10_080 == schedule.materialised + schedule.skipped
        assert schedule.materialised == runs == len(planned)
        assert schedule.skipped == (Misfire.objects.aggregate(n=Sum("count"))["n"] or 0)


@pytest.mark.case("SC-14")
def test_a_restart_over_the_due_moment_runs_it_within_its_grace_and_notes_it_beyond(tenant: Tenant) -> None:
    nine = datetime(2026, 6, 1, 9, 0, tzinfo=UTC)  # a Monday
    with definition(every=None, cron="0 9 * * 1", misfire=Policy.SKIP, grace=timedelta(minutes=10), cap=None):
        schedule = row(cursor=nine - 5 * MINUTE)
        materialising.materialise(now=nine + 5 * MINUTE)
        assert instants(schedule) == [nine]
        schedule.refresh_from_db()
        assert schedule.next_at == nine + WEEK
        materialising.materialise(now=nine + WEEK + 11 * MINUTE)
        assert instants(schedule) == [nine]
        assert left_out(schedule) == {"grace": 1}


@pytest.mark.case("SC-13")
def test_a_short_downtime_under_skip_catches_nothing_up_and_under_once_one(tenant: Tenant) -> None:
    down, up = datetime(2026, 6, 1, 16, 43, 50, tzinfo=UTC), datetime(2026, 6, 1, 16, 44, 42, tzinfo=UTC)
    after = datetime(2026, 6, 1, 16, 44, 45, tzinfo=UTC)
    every = timedelta(seconds=15)
    with definition(every=every, misfire=Policy.SKIP, grace=timedelta(seconds=5), cap=None):
        schedule = row(cursor=down)
        for now in (up, after):
            materialising.materialise(now=now)
        assert instants(schedule) == [after]
    Occurrence.objects.all().delete()
    with definition(every=every, misfire=Policy.ONCE, cap=None):
        schedule = row(cursor=down)
        for now in (up, after):
            materialising.materialise(now=now)
        assert instants(schedule) == [after - every, after]


@pytest.mark.proves("jobs#test-time-transitions")
@pytest.mark.parametrize("gap", list(Gap))
@pytest.mark.parametrize("overlap", list(Overlap))
def test_a_scheduler_restarted_anywhere_around_a_transition_materialises_the_same(
    tenant: Tenant, gap: Gap, overlap: Overlap
) -> None:
    local = {"cron": "*/20 * * * *", "zone": "Europe/Berlin", "business_reason": "x", "gap": gap, "overlap": overlap}
    for start in (datetime(2026, 3, 29, 0, 0, tzinfo=UTC), datetime(2026, 10, 24, 23, 0, tzinfo=UTC)):
        found = []
        for turns in (1, 9):
            with definition(**local):
                schedule = row(cursor=start)
                for n in range(1, turns + 1):
                    materialising.materialise(now=start + timedelta(hours=3) * n / turns)
                found.append(instants(schedule))
                Occurrence.objects.all().delete()
                Schedule.objects.all().delete()
        assert found[0] == found[1]
        spring = {Gap.SKIP: 9, Gap.SHIFT: 9, Gap.GAP_END: 9}
        autumn = {Overlap.FIRST: 6, Overlap.SECOND: 6, Overlap.BOTH: 9}
        assert len(found[0]) == (spring[gap] if start.month == 3 else autumn[overlap])


def test_two_schedulers_at_once_double_nothing_and_miss_nothing(minutely: Any, tenant: Tenant) -> None:
    schedule = row()
    start = threading.Barrier(4)

    def schedulers_turns() -> None:
        start.wait()
        for n in range(1, 41):
            materialising.materialise(now=NOON + MINUTE * n)
        connection.close()

    threads = [threading.Thread(target=copy_context().run, args=(schedulers_turns,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    materialising.materialise(now=NOON + 40 * MINUTE)
    assert instants(schedule) == [NOON + MINUTE * n for n in range(1, 41)]
    schedule.refresh_from_db()
    assert schedule.enumerated == schedule.materialised == 40


def test_a_scheduler_that_was_stopped_holding_a_schedule_is_passed_by_and_then_cut_off(minutely: Any) -> None:
    schedule = row()
    other = psycopg.connect(
        **{
            k: v
            for k, v in connection.get_connection_params().items()
            if k in {"host", "port", "user", "password", "dbname"}
        }
    )
    other.execute("SET idle_in_transaction_session_timeout = '300ms'")
    other.execute("SELECT FROM schedules_schedule WHERE id = %s FOR UPDATE", [schedule.pk])
    assert materialising.materialise(now=NOON + MINUTE) == 0
    threading.Event().wait(0.6)
    assert materialising.materialise(now=NOON + MINUTE) == 1
    with pytest.raises(psycopg.Error):
        other.execute("SELECT 1")  # it wakes to find that its transaction is gone
    other.close()


def test_a_schedule_edited_in_its_due_second_fires_once_by_the_old_rule_and_then_by_the_new(tenant: Tenant) -> None:
    with definition(every=None, cron="0 13 * * *"):
        schedule = row()
    one = datetime(2026, 6, 1, 13, 0, tzinfo=UTC)
    with definition(every=timedelta(minutes=30)):
        fanning_out.fan_out(now=one + timedelta(milliseconds=300))
        assert instants(schedule) == [one]
        materialising.materialise(now=one + timedelta(minutes=30))
        assert instants(schedule) == [one, one + timedelta(minutes=30)]
        fanning_out.fan_out(now=one + timedelta(minutes=31))
        assert AuditEvent.objects.filter(act="schedule.edited", target=f"schedule:{schedule.pk}").count() == 1


def test_an_edit_during_a_pause_counts_what_the_old_rule_would_have_had(tenant: Tenant) -> None:
    with definition(every=MINUTE):
        schedule = row()
        Schedule.objects.filter(pk=schedule.pk).update(paused_at=NOON)
    with definition(every=timedelta(hours=1)):
        fanning_out.fan_out(now=NOON + 5 * MINUTE)
        schedule.refresh_from_db()
        assert (schedule.enumerated, schedule.skipped, instants(schedule)) == (5, 5, [])
        assert left_out(schedule) == {"paused": 5} and schedule.next_at == NOON + timedelta(hours=1)


def test_an_edit_never_plans_behind_the_cursor(tenant: Tenant) -> None:
    with definition(every=timedelta(minutes=10)):
        schedule = row(cursor=NOON + timedelta(hours=1))
    with definition(every=MINUTE):
        fanning_out.fan_out(now=NOON)
        schedule.refresh_from_db()
        assert schedule.cursor == NOON + timedelta(hours=1)
        assert schedule.next_at == NOON + timedelta(hours=1) + MINUTE


@pytest.mark.proves("jobs#scope-occurrences-and-leases-by-tenant")
def test_a_definition_has_one_schedule_a_tenant_and_each_occurrence_is_its_tenants(
    minutely: Any, tenant: Tenant, other_tenant: Tenant
) -> None:
    fanning_out.fan_out(now=NOON)
    fanning_out.fan_out(now=NOON)
    materialising.materialise(now=NOON + MINUTE)
    opening.open_waiting()
    with scope.unscoped(reason="the test looks at every tenant"):
        due = Occurrence.objects.filter(schedule__definition="test.job")
        mine = Counter(due.values_list("tenant__slug", "schedule__tenant__slug", "live"))
        assert Schedule.objects.filter(definition="test.job").count() == 2
    assert mine == {("acme", "acme", True): 1, ("globex", "globex", True): 1}
    foreign = Schedule.objects.get(definition="test.job")
    with pytest.raises(IntegrityError), transaction.atomic():
        Occurrence.objects.create(tenant=other_tenant, schedule=foreign, scheduled_at=NOON)


def test_a_schedule_whose_definition_is_gone_fires_no_more_and_comes_back_without_catching_up(tenant: Tenant) -> None:
    with definition():
        schedule = row()
    fanning_out.fan_out(now=NOON + MINUTE)
    schedule.refresh_from_db()
    assert schedule.retired_at is not None
    with definition():
        materialising.materialise(now=NOON + 5 * MINUTE)
        fanning_out.fan_out(now=NOON + 6 * MINUTE)
        materialising.materialise(now=NOON + 7 * MINUTE)
        assert instants(schedule) == [NOON + 7 * MINUTE]


def test_what_is_due_while_a_run_goes_on_is_left_out_or_waits_or_goes_beside_it(tenant: Tenant) -> None:
    opened = {}
    for policy in StillGoing:
        misfire = {"misfire": Policy.ONCE, "cap": None} if policy is StillGoing.SKIP else {}
        with definition(still_going=policy, **misfire):
            schedule = row()
            for n in (1, 2, 3):
                materialising.materialise(now=NOON + MINUTE * n)
                opening.open_waiting()
            opened[policy] = list(Occurrence.objects.order_by("scheduled_at").values_list("live", "state"))
            schedule.refresh_from_db()
            assert schedule.enumerated == 3 == schedule.materialised + schedule.skipped
            if policy is StillGoing.SKIP:
                assert schedule.skipped == 2 and Misfire.objects.filter(reason="going").count() == 2
            for job in timetable.Job.objects.filter(state="queued"):
                timetable.run_job(job)
        Misfire.objects.all().delete()
        Occurrence.objects.all().delete()
        Schedule.objects.all().delete()
    live, waits, out = (True, "scheduled"), (False, "scheduled"), (False, "skipped")
    assert opened == {
        StillGoing.SKIP: [live, out, out],
        StillGoing.QUEUE: [live, waits, waits],
        StillGoing.ALLOW: [live, live, live],
    }
