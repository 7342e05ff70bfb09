"""The product's own housekeeping runs on the timetable."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from backoffice import clock, commands, livesettings, storage
from backoffice.audit.models import AuditEvent
from backoffice.commands import Actor
from backoffice.commands.models import Receipt
from backoffice.jobs.models import Job
from backoffice.livesettings.changing import change_setting
from backoffice.schedules import base, fanning_out, materialising, operating
from backoffice.schedules.models import Misfire, Occurrence, Schedule
from backoffice.storage.models import Artifact
from backoffice.tenants import scope
from backoffice.tenants.models import PLATFORM_ID, Tenant, User
from queues.models import Payout
from queues.sweeping import ranges_to_score
from tests.timetable import NOON, definition, job_of, row, run_job

SHELL = Actor.system("shell", acting_for="a test")
DAY = timedelta(days=1)


def run_now(name: str) -> Occurrence:
    """Run the product's schedule of this name once, as an operator does."""
    with scope.open(Tenant.objects.get(pk=PLATFORM_ID)):
        fanning_out.fan_out(now=materialising.database_now())
        schedule = Schedule.objects.get(definition=name)
        key = f"run {Occurrence.objects.count()}"
        outcome = commands.dispatch(operating.run_schedule, actor=SHELL, key=key, schedule_id=schedule.pk)
        run_job(Job.objects.get(pk=outcome.data["job"]))
        occurrence = Occurrence.objects.get(pk=outcome.data["occurrence"])
    assert occurrence.state == "completed", occurrence.safe_error
    return occurrence


def payout(tenant: Tenant, **values: Any) -> Payout:
    made = {
        "reference": "P-1",
        "state": "open",
        "opened_at": NOON,
        "beneficiary": "Ada",
        "account": "DE89370400440532013000",
        "amount": 100,
        "currency": "EUR",
    }
    with scope.open(tenant):
        return Payout.objects.create(tenant=tenant, **{**made, **values})


@pytest.mark.proves("jobs#run-one-command-per-item-in-selection")
def test_expired_holds_are_freed_in_every_tenant_with_their_history(
    tenant: Tenant, other_tenant: Tenant, make_person: Callable[..., User]
) -> None:
    now = materialising.database_now()
    person = make_person()
    hold = {"claim_holder": person, "claimed_at": now - DAY, "claim_token": 7}
    state = Payout.OPEN[0]
    expired = payout(tenant, state=state, lease_until=now - timedelta(minutes=1), **hold)
    live = payout(tenant, state=state, lease_until=now + DAY, **hold)
    foreign = payout(other_tenant, state=state, lease_until=now - timedelta(minutes=1), **hold)
    asleep = payout(tenant, state=state, snoozed_until=now - timedelta(minutes=1))
    occurrence = run_now("queues.sweep-claims")
    with scope.unscoped(reason="the test looks at every tenant"):
        free = {p.pk: (p.claim_holder_id, p.claim_token, p.snoozed_until) for p in Payout.objects.all()}
        noted = set(AuditEvent.objects.filter(act__in=["item.expire", "item.wake"]).values_list("tenant_id", "target"))
    assert free[expired.pk] == free[foreign.pk] == (None, 7, None) and free[live.pk] == (person.pk, 7, None)
    assert free[asleep.pk][2] is None
    assert noted == {
        (tenant.pk, f"payout:{expired.pk}"),
        (tenant.pk, f"payout:{asleep.pk}"),
        (other_tenant.pk, f"payout:{foreign.pk}"),
    }
    assert occurrence.items_done == 2  # one command a tenant and queue


def test_open_items_are_scored_again_in_ranges_in_the_order_of_their_keys(tenant: Tenant, other_tenant: Tenant) -> None:
    for owner in (tenant, other_tenant):
        payout(owner, state=Payout.OPEN[0])
    items = list(ranges_to_score(now=NOON, after="", limit=100))
    assert [item.key for item in items] == sorted(item.key for item in items) and len(items) == 2
    assert list(ranges_to_score(now=NOON, after=items[0].key, limit=1)) == items[1:]
    assert run_now("queues.rescore").items_done == 2
    with scope.unscoped(reason="the test looks at every tenant"):
        assert all(p.score is not None for p in Payout.objects.all())


@pytest.mark.proves("jobs#run-one-command-per-item-in-selection")
def test_files_past_their_time_go_and_the_others_stay(tenant: Tenant) -> None:
    now = clock.now()

    def stored(number: int, expires: timedelta) -> Artifact:
        key = storage.object_key(area="exports", request_id=number, fence=1)
        storage.put(key=key, data=b"1,2", content_type="text/csv")
        return Artifact.objects.create(
            tenant=tenant,
            subject="export:payouts",
            object_key=key,
            filename="payouts.csv",
            content_type="text/csv",
            bytes=3,
            sha256="0" * 64,
            rows=1,
            contact="finance",
            needs=[],
            created_at=now - DAY,
            expires_at=now + expires,
        )

    old, new = stored(1, -timedelta(minutes=1)), stored(2, DAY)
    assert run_now("exports.expire-artifacts").items_done == 1
    assert Artifact.objects.get(pk=old.pk).removed_because == "expired" and not storage.exists(key=old.object_key)
    assert Artifact.objects.get(pk=new.pk).removed_at is None and storage.exists(key=new.object_key)
    run_now("exports.sweep-storage")
    assert storage.exists(key=new.object_key)


@pytest.mark.proves("jobs#remove-occurrences-past-retention")
def test_occurrences_past_their_own_schedules_retention_go_and_the_cursor_stays(tenant: Tenant) -> None:
    now = materialising.database_now().replace(microsecond=0, second=0)
    with definition(retention="schedules.frequent_retention", every=DAY):
        schedule = row(cursor=now - 20 * DAY)
        materialising.materialise(now=now)
        Misfire.objects.create(
            tenant=tenant, schedule=schedule, reason="once", count=1, first_at=now, last_at=now, at=now - 8 * DAY
        )
        assert Occurrence.objects.count() == 20
        run_now("schedules.expire-occurrences")
        kept = Occurrence.objects.filter(schedule=schedule)
        assert kept.count() == 7 and kept.earliest("scheduled_at").scheduled_at > now - 7 * DAY
        assert Misfire.objects.count() == 0
        commands.dispatch(
            change_setting, actor=SHELL, key="s", name="schedules.frequent_retention", value=2
        )  # the tenant's own value holds
        run_now("schedules.expire-occurrences")
        assert Occurrence.objects.filter(schedule=schedule).count() == 2
        schedule.refresh_from_db()
        assert schedule.cursor == now and materialising.materialise(now=now) == 0
    assert all(job.retention in livesettings.settings for job in base.jobs)


def test_a_live_occurrence_is_never_removed(tenant: Tenant) -> None:
    with definition():
        schedule = row()
        commands.dispatch(operating.run_schedule, actor=SHELL, key="r", schedule_id=schedule.pk)
        occurrence = Occurrence.objects.get()
        from backoffice.schedules.expiring import expire_occurrences

        later = (materialising.database_now() + DAY).isoformat()
        commands.dispatch(expire_occurrences, actor=SHELL, key="e", schedule_id=schedule.pk, before=later)
        assert Occurrence.objects.count() == 1
        run_job(job_of(occurrence))
        commands.dispatch(expire_occurrences, actor=SHELL, key="e2", schedule_id=schedule.pk, before=later)
        assert Occurrence.objects.count() == 0


def test_old_jobs_and_receipts_go_but_those_of_plan_lines_stay(tenant: Tenant) -> None:
    old = materialising.database_now() - 400 * DAY
    for key, at in (("form", old), ("plan:1:2", old), ("fresh", old + 399 * DAY)):
        Receipt.objects.create(
            tenant=tenant, command="x", key=key, actor="a", fingerprint="f", outcome={}, created_at=at
        )
    run_now("commands.expire-receipts")
    assert set(Receipt.objects.filter(command="x").values_list("key", flat=True)) == {"plan:1:2", "fresh"}
    run_now("jobs.expire")
    assert Job.objects.count() == 0


def test_the_rehearsal_touches_demo_tenants_only(tenant: Tenant, other_tenant: Tenant) -> None:
    Tenant.objects.filter(pk=tenant.pk).update(demo=True)
    assert run_now("schedules.rehearsal").items_done == 1
    assert AuditEvent.objects.filter(act="rehearsal.step").count() == 1
