"""An occurrence is worked off once: under a lease, item by item, and through failures."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction

from backoffice import commands
from backoffice.audit.models import AuditEvent
from backoffice.commands import Actor
from backoffice.commands.models import Receipt
from backoffice.errors import Refusal
from backoffice.jobs import Backoff, SettlementRefused, StaleFence, kinds, settling
from backoffice.jobs import base as job_base
from backoffice.jobs.keeping import Held, Keeper
from backoffice.jobs.models import Job
from backoffice.jobs.reconciling import end_overdue
from backoffice.jobs.running import Exit, work
from backoffice.jobs.settling import Ground
from backoffice.jobs.states import JobState
from backoffice.schedules import base, materialising, opening, operating, running
from backoffice.schedules.models import Occurrence, Schedule
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant
from tests import timetable
from tests.timetable import NOON, claim, definition, job_of, row, run_job

MINUTE = timedelta(minutes=1)
SHELL = Actor.system("shell", acting_for="a test")


@pytest.fixture
def due(tenant: Tenant) -> Iterator[Occurrence]:
    """Make one occurrence with its job."""
    with definition():
        yield open_one()


def open_one() -> Occurrence:
    row()
    materialising.materialise(now=NOON + MINUTE)
    opening.open_waiting()
    return Occurrence.objects.latest("scheduled_at")


def fresh(occurrence: Occurrence) -> Occurrence:
    return Occurrence.objects.get(pk=occurrence.pk)


def lapse(job: Job) -> None:
    """Let the job's lease end, as when its worker was lost."""
    Job.objects.filter(pk=job.pk).update(lease_until=materialising.database_now() - timedelta(seconds=1))


def replay(occurrence: Occurrence, key: str = "k") -> Job:
    commands.dispatch(operating.replay_occurrence, actor=SHELL, key=key, occurrence_id=occurrence.pk)
    return job_of(occurrence)


@pytest.mark.proves(
    "jobs#run-one-command-per-item-in-selection",
    "jobs#scope-command-idempotency-by-occurrence",
    "jobs#dispatch-application-behavior",
    "jobs#persist-occurrence-state",
    "jobs#persist-occurrence-recovery-points",
)
def test_a_run_dispatches_one_command_an_item_under_the_occurrences_identity(due: Occurrence) -> None:
    seen: list[tuple[str, int]] = []
    timetable.before_each.append(lambda fruit: seen.append((fruit, connection.savepoint_ids.__len__())))
    transactions = []
    timetable.before_each.append(lambda fruit: transactions.append(_transaction()))
    assert run_job(job_of(due)) is Exit.RECORDED
    assert timetable.done == ["apple", "pear", "plum"]
    assert len(set(transactions)) == 3  # each in its own unit of work
    keys = list(Receipt.objects.filter(command="test.eat").values_list("key", flat=True))
    assert keys == [f"{due.identity}:{fruit}" for fruit in timetable.done]
    after = fresh(due)
    assert (after.state, after.items_done, after.live, after.attempts) == ("completed", 3, False, 1)
    assert after.started_at is not None and after.completed_at is not None
    assert due.scheduled_at < after.started_at < after.completed_at
    event = AuditEvent.objects.filter(act="test.eat").latest("id")
    assert (event.actor, event.acting_for) == ("system:schedules", f"occurrence:{due.pk}")


def _transaction() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_current_xact_id()::text::bigint")
        return int(cursor.fetchone()[0])


@pytest.mark.proves("jobs#store-execution-leases", "jobs#scope-occurrences-and-leases-by-tenant")
def test_the_lease_lies_on_the_occurrence_and_moves_with_the_jobs_own_statements(due: Occurrence) -> None:
    job = job_of(due)
    keeper = Keeper("replica-1")
    held = keeper.claim(job_id=job.pk, kinds=[job.kind])
    assert held is not None
    claimed = fresh(due)
    assert (claimed.state, claimed.lease_owner, claimed.fence) == ("processing", "replica-1", 1)
    job.refresh_from_db()
    assert (claimed.lease_until, claimed.tenant_id) == (job.lease_until, job.tenant_id)
    assert keeper.renew(held) is False
    assert fresh(due).lease_until > job.lease_until
    settling.settle(job_id=job.pk, fence=1, state=JobState.SUCCEEDED, ground=Ground.LIVE)
    settled = fresh(due)
    assert (settled.state, settled.lease_owner, settled.lease_until) == ("completed", "", None)
    keeper.close()


@pytest.mark.proves("jobs#renew-only-owned-leases")
def test_a_replica_renews_its_own_live_lease_only(due: Occurrence) -> None:
    job = job_of(due)
    first, second = Keeper("replica-1"), Keeper("replica-2")
    held = first.claim(job_id=job.pk, kinds=[job.kind])
    assert held is not None and second.claim(job_id=job.pk, kinds=[job.kind]) is None
    assert second.renew(held) is None  # not its own
    lapse(job)
    assert first.renew(held) is None  # no longer alive
    end_overdue()
    taken = second.claim(job_id=job.pk, kinds=[job.kind])
    assert taken is not None and first.renew(held) is None and second.renew(taken) is False
    assert fresh(due).lease_owner == "replica-2"
    first.close(), second.close()


@pytest.mark.proves(
    "jobs#prevent-duplicate-completion",
    "jobs#restrict-completion-by-fencing-value",
    "jobs#generate-monotonic-fencing-values",
    "jobs#tolerate-duplicate-execution",
)
def test_of_two_replicas_that_overlap_one_completes_and_each_item_has_one_effect(due: Occurrence) -> None:
    job = job_of(due)
    stale = claim(job, owner="replica-1")

    looked = stale.guard

    def guard() -> None:
        """Lose the lease after the first item, as when the process stood still."""
        if timetable.done == ["apple"]:
            lapse(job)  # goes with the command's transaction, so once more below
        looked()

    stale.guard = guard  # type: ignore[method-assign]  # the moment at which the lease ends
    assert work(stale) is Exit.UNRECORDED and timetable.done == ["apple"]
    lapse(job)
    end_overdue()
    fences = [fresh(due).fence]
    winner = claim(job, owner="replica-2")
    fences.append(fresh(due).fence)
    assert work(winner) is Exit.RECORDED
    assert timetable.done == ["apple", "pear", "plum"]
    with pytest.raises(SettlementRefused):
        settling.settle(job_id=job.pk, fence=stale.fence, state=JobState.SUCCEEDED, ground=Ground.LIVE)
    with pytest.raises(StaleFence):
        running._save(due, stale, running.Tally(cursor="zebra"))
    after = fresh(due)
    assert fences == [1, 2] and (after.state, after.fence, after.attempts) == ("completed", 2, 2)
    assert after.cursor == "plum"


@pytest.mark.proves("jobs#generate-monotonic-fencing-values", "jobs#restrict-completion-by-fencing-value")
def test_the_database_refuses_a_fence_that_falls_and_a_completion_undone(due: Occurrence) -> None:
    run_job(job_of(due))
    for values in ({"fence": 0}, {"state": "scheduled"}, {"scheduled_at": NOON}):
        with pytest.raises(DatabaseError), transaction.atomic():
            Occurrence.objects.filter(pk=due.pk).update(**values)


@pytest.mark.proves("jobs#resume-driven-work-through-the-cursor")
def test_after_a_failure_halfway_the_rest_resumes_at_the_cursor(tenant: Tenant) -> None:
    asked: list[str] = []

    def watched(*, now: Any, after: str, limit: int) -> Any:
        asked.append(after)
        return timetable.fruit(now=now, after=after, limit=limit)

    with definition(selects=watched, drives_saga=True, cursor="Occurrence.cursor: the key of the last fruit eaten"):
        due = open_one()
        timetable.broken.add("pear")
        run_job(job_of(due))
        assert timetable.done == ["apple", "plum"] and fresh(due).cursor == "apple"
        assert fresh(due).state == "processing"
        timetable.broken.clear()
        asked.clear()
        run_job(job_of(due))
        assert asked[0] == "apple"
        assert timetable.done == ["apple", "plum", "pear"]
        assert (fresh(due).state, fresh(due).items_done, fresh(due).cursor) == ("completed", 3, "plum")


def test_a_refused_item_is_counted_and_holds_nothing_up(due: Occurrence) -> None:
    timetable.refused.add("apple")
    run_job(job_of(due))
    after = fresh(due)
    assert (after.state, after.items_done, after.items_refused) == ("completed", 2, 1)
    assert AuditEvent.objects.filter(act="test.eat", outcome="refused", code="bitter").count() == 1


@pytest.mark.proves("jobs#bound-job-retries", "jobs#persist-occurrence-state")
def test_what_fails_each_time_is_parked_as_a_dead_letter_with_safe_words(due: Occurrence) -> None:
    timetable.broken.add("pear")
    for attempt in (1, 2, 3):
        assert fresh(due).state in ("scheduled", "processing"), attempt
        run_job(job_of(due))
    after = fresh(due)
    assert (after.state, after.attempts, after.live) == ("dead_letter", 3, False)
    assert "Reference for the operators" in after.safe_error and "a bug" not in after.safe_error
    assert after.completed_at is None
    opening.open_waiting()
    assert Job.objects.filter(occurrence=due.pk).count() == 1  # parked, not tried again


@pytest.mark.proves("jobs#bound-job-retries", "jobs#observe-job-cancellation")
def test_a_cancelled_run_stops_before_its_next_item_and_a_waiting_retry_at_once(tenant: Tenant) -> None:
    with definition(backoff=Backoff(first=timedelta(hours=1))):
        due = open_one()
        run = claim(job_of(due))

        def cancel(fruit: str) -> None:
            if fruit == "apple":
                Job.objects.filter(occurrence=due.pk).update(cancel_requested_at=materialising.database_now())

        timetable.before_each.append(cancel)
        work(run)
        assert timetable.done == ["apple"]
        assert (fresh(due).state, fresh(due).live) == ("dead_letter", False)
        timetable.before_each.clear()
        timetable.broken.add("pear")
        job = replay(due)
        run_job(job)
        job.refresh_from_db()
        assert job.state == "queued" and job.available_at > materialising.database_now() + timedelta(minutes=5)
        from backoffice.jobs import cancelling

        commands.dispatch(cancelling.cancel, actor=SHELL, key="c", job_id=job.pk)
        assert (fresh(due).state, fresh(due).live) == ("dead_letter", False)


@pytest.mark.proves("jobs#audit-manual-replay", "jobs#generate-monotonic-fencing-values")
def test_a_replay_is_a_new_audited_job_under_the_same_identity_and_instant(due: Occurrence) -> None:
    timetable.broken.add("plum")
    first = job_of(due)
    for _attempt in range(3):
        run_job(first)
    before = fresh(due)
    timetable.broken.clear()
    again = replay(due)
    assert (again.replay_of_id, again.occurrence) == (first.pk, due.pk) and again.pk != first.pk
    with pytest.raises(Refusal, match="still-going"):
        replay(due, key="k2")
    with pytest.raises(IntegrityError), transaction.atomic():
        opening.submit(due, job_name="test.job", replay_of=again)
    run_job(again)
    after = fresh(due)
    assert (after.state, after.identity, after.scheduled_at) == ("completed", before.identity, before.scheduled_at)
    assert after.fence == before.fence + 1 == 4 and after.attempts == 4
    assert timetable.done == ["apple", "pear", "plum"]  # what was done before had no second effect
    event = AuditEvent.objects.get(act="occurrence.replay", outcome="done")
    assert (event.target, event.data["result"]["identity"]) == (f"occurrence:{due.pk}", due.identity)
    with pytest.raises(Refusal, match="not-replayable"):
        replay(due, key="k3")


@pytest.mark.proves("jobs#bound-job-duration")
def test_a_run_past_its_duration_is_ended_and_parked(due: Occurrence) -> None:
    job = job_of(due)
    run = claim(job)
    Job.objects.filter(pk=job.pk).update(deadline=materialising.database_now() - timedelta(seconds=10))
    end_overdue()
    assert (fresh(due).state, fresh(due).safe_error) == ("dead_letter", settling.overdue())
    with pytest.raises(StaleFence):
        run.guard()
    assert all(kind.max_duration > timedelta(0) for kind in kinds if kind.name.startswith("schedule:"))


@pytest.mark.proves("jobs#stop-jobs-during-graceful-shutdown")
def test_a_worker_that_shuts_down_hands_the_rest_over_between_two_items(due: Occurrence) -> None:
    run = claim(job_of(due), asked_to_stop=lambda: timetable.done == ["apple"])
    work(run)
    after = fresh(due)
    assert timetable.done == ["apple"] and (after.cursor, after.live, after.attempts) == ("apple", True, 1)
    run_job(job_of(due))
    assert timetable.done == ["apple", "pear", "plum"] and fresh(due).state == "completed"


@pytest.mark.proves("jobs#use-execution-scopes")
def test_each_run_has_the_scope_of_its_tenant_and_leaves_none_behind(tenant: Tenant, other_tenant: Tenant) -> None:
    with definition():
        due = open_one()
        seen: list[str] = []
        timetable.before_each.append(lambda fruit: seen.append(scope.current().slug))
        run = claim(job_of(due))
        with scope.open(other_tenant):
            work(run)
            assert scope.current() == other_tenant
        assert seen == ["acme"] * 3


@pytest.mark.proves("jobs#run-scheduled-jobs-in-worker")
def test_work_is_run_by_the_worker_only() -> None:
    """The handler is reached from the job's kind alone; no page and no command of ours calls it."""
    callers = {
        path.name
        for path in Path(running.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr == "work_off"
    }
    assert callers == {"execution.py"}
    assert all(kinds.get(opening.kind_of(job.name)).queue == "interactive" for job in base.jobs)


@pytest.mark.proves("jobs#exclude-direct-storage-and-http-execution", "jobs#dispatch-application-behavior")
def test_the_handler_changes_no_model_and_calls_no_address() -> None:
    tree = ast.parse(inspect.getsource(running))
    called = {
        node.func.attr for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    assert not called & {
        "save",
        "create",
        "update",
        "delete",
        "bulk_create",
        "bulk_update",
        "urlopen",
        "request",
        "post",
    }
    assert all(isinstance(job.runs, commands.Command) and "schedules" in job.runs.systems for job in base.jobs)


@pytest.mark.proves("jobs#place-handlers-with-owned-behavior", "jobs#separate-schedule-definitions")
def test_each_definition_lies_in_a_definitions_package_apart_from_the_command_it_runs() -> None:
    assert len(list(base.jobs)) >= 6
    for job in base.jobs:
        module = type(job).__module__
        assert ".definitions." in module
        command = job.runs.body.__module__
        assert ".definitions." not in command
        names = [
            node.id for node in ast.walk(ast.parse(inspect.getsource(type(job)).strip())) if isinstance(node, ast.Name)
        ]
        assert "commands" not in names and len(inspect.getsource(type(job)).splitlines()) < 40


def test_every_schedule_kind_is_known_to_the_jobs_and_passes_their_checks() -> None:
    for job in base.jobs:
        kind = job_base.kinds.get(opening.kind_of(job.name))
        assert kind.check() == []
        assert (kind.max_attempts, kind.lease, kind.max_duration) == (job.attempts, job.lease, job.max_duration)


def test_run_now_opens_an_occurrence_of_its_own_that_is_never_a_planned_one(due: Occurrence) -> None:
    commands.dispatch(operating.run_schedule, actor=SHELL, key="now", schedule_id=due.schedule_id)
    made = Occurrence.objects.get(manual=True)
    assert made.scheduled_at.microsecond and made.live
    schedule = Schedule.objects.get(pk=due.schedule_id)
    assert schedule.enumerated == schedule.materialised + schedule.skipped == 1
    run_job(job_of(made))
    assert fresh(made).state == "completed"


def test_what_is_held_is_described_by_its_lease(due: Occurrence) -> None:
    keeper = Keeper("replica-9")
    held = keeper.claim(job_id=job_of(due).pk, kinds=[job_of(due).kind])
    assert isinstance(held, Held)
    assert fresh(due).lease_owner == "replica-9"
    keeper.close()
