"""Submission identity, what a submission writes, and the start after the commit."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import redis
from django.conf import settings
from django.db import connection, connections, transaction

from backoffice import jobs
from backoffice.errors import SubmissionConflict, UnknownDefinition
from backoffice.jobs import dispatching, reconciling
from backoffice.jobs.errors import StartRefused
from backoffice.jobs.models import Job, JobEvent, JobStep
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant
from tests.probe_jobs.definitions import probes  # noqa: F401  (registers the probes)


@contextmanager
def _somebody_else(tenant: Tenant) -> Iterator[list]:
    """Submit the same job in an open transaction of another connection, committed when the block asks for it."""
    inserted, commit, done, found = threading.Event(), threading.Event(), threading.Event(), []

    def other() -> None:
        with scope.open(tenant):
            try:
                with transaction.atomic():
                    found.append(jobs.submit(kind="probe.idle", key="a"))
                    inserted.set()
                    commit.wait(20)
            finally:
                done.set()
                connections.close_all()

    thread = threading.Thread(target=other)
    thread.start()
    assert inserted.wait(10)
    found.append(lambda: threading.Timer(0.3, commit.set).start())
    try:
        yield found
    finally:
        commit.set()
        thread.join(20)


@pytest.mark.proves("record#01", "record#scenario-01")
def test_a_repeated_submission_returns_the_job_that_its_identity_names(tenant: Tenant, other_tenant: Tenant) -> None:
    first = jobs.submit(kind="probe.idle", key="a")
    assert jobs.submit(kind="probe.idle", key="a").pk == first.pk
    with transaction.atomic():
        assert jobs.submit(kind="probe.idle", key="a").pk == first.pk
    assert Job.objects.count() == 1
    assert JobEvent.objects.count() == 1
    assert jobs.submit(kind="probe.idle", key="b").pk != first.pk
    assert jobs.submit(kind="probe.steps", key="a").pk != first.pk
    with scope.open(other_tenant):
        assert jobs.submit(kind="probe.idle", key="a").pk != first.pk


@pytest.mark.proves("record#01")
def test_a_race_outside_a_transaction_resolves_to_the_winner(tenant: Tenant) -> None:
    with _somebody_else(tenant) as (winner, commit_soon):
        commit_soon()
        assert jobs.submit(kind="probe.idle", key="a").pk == winner.pk
    assert Job.objects.count() == 1


@pytest.mark.proves("record#01")
@pytest.mark.parametrize("isolation", ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"])
@pytest.mark.parametrize("hidden", [False, True], ids=["plain", "behind a savepoint"])
def test_a_race_inside_a_transaction_aborts_the_whole_of_it(tenant: Tenant, isolation: str, hidden: bool) -> None:
    def caller() -> None:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute(f"SET TRANSACTION ISOLATION LEVEL {isolation}")
                cursor.execute("SELECT 1 FROM job")
            jobs.submit(kind="probe.steps", key="mine")
            if not hidden:
                jobs.submit(kind="probe.idle", key="a")
                return
            try:
                with transaction.atomic():
                    jobs.submit(kind="probe.idle", key="a")
            except SubmissionConflict:
                pass  # hiding it, as no caller should
            Job.objects.count()

    with _somebody_else(tenant) as (winner, commit_soon):
        commit_soon()
        with pytest.raises(Exception) as raised:  # noqa: PT011  (which error a hidden conflict becomes is Django's)
            caller()
        if not hidden:
            assert isinstance(raised.value, SubmissionConflict)
    assert list(Job.objects.values_list("pk", flat=True)) == [winner.pk]
    with transaction.atomic():  # the caller repeats its transaction
        jobs.submit(kind="probe.steps", key="mine")
        assert jobs.submit(kind="probe.idle", key="a").pk == winner.pk


@pytest.mark.proves("record#01")
def test_the_database_itself_holds_one_job_an_intention(tenant: Tenant) -> None:
    job = jobs.submit(kind="probe.idle", key="a")
    columns = "tenant_id, kind, submission_key, queue, arguments, lease, max_duration"
    with pytest.raises(Exception, match="job_one_per_intention"), connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO job ({columns}) SELECT {columns} FROM job WHERE id = %s", [job.pk])


@pytest.mark.proves("record#02", "record#08")
def test_a_submission_writes_the_queued_steps_and_the_published_catalog(tenant: Tenant) -> None:
    with transaction.atomic():
        job = jobs.submit(kind="probe.weighted", key="a", arguments={"plan": 17})
    assert (job.state, job.progress, job.attempt, job.arguments) == ("queued", 0, 0, {"plan": 17})
    steps = list(JobStep.objects.values_list("name", "position", "weight", "state"))
    assert steps == [("one", 1, 10, "queued"), ("two", 2, 85, "queued"), ("three", 3, 100, "queued")]
    event = JobEvent.objects.get()
    assert (event.seq, event.name) == (1, "submitted")
    assert [one["title"] for one in event.data["steps"]] == ["First", "Second", "Third"]
    assert event.data["no_consequence"] == "It is a test."


@pytest.mark.proves("record#02")
def test_starting_inside_the_submitting_transaction_is_refused(tenant: Tenant) -> None:
    with transaction.atomic():
        job = jobs.submit(kind="probe.idle", key="a")
        assert dispatching.broker().llen("rq:queue:interactive") == 0
        with pytest.raises(StartRefused):
            dispatching.start(job_ids=[job.pk])
    assert dispatching.broker().llen("rq:queue:interactive") == 1


def test_a_rolled_back_submission_leaves_nothing_and_sends_nothing(tenant: Tenant) -> None:
    with transaction.atomic():
        jobs.submit(kind="probe.idle", key="a")
        transaction.set_rollback(True)
    assert not Job.objects.exists()
    assert dispatching.broker().llen("rq:queue:interactive") == 0


@pytest.mark.proves("record#03")
def test_without_a_broker_the_submission_succeeds_and_the_reconciler_starts_the_job(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = redis.Redis(host="127.0.0.1", port=1, socket_connect_timeout=1)
    with monkeypatch.context() as without:
        without.setattr(dispatching, "broker", lambda: away)
        dispatching.queue.cache_clear()
        job = jobs.submit(kind="probe.idle", key="a")
        job.refresh_from_db()
        assert (job.state, job.dispatched_at) == ("queued", None)
        assert job.events.count() == 1
        _make_due(job)
        with pytest.raises(redis.ConnectionError):
            reconciling.dispatch_due()
        job.refresh_from_db()
        assert (job.state, job.dispatched_at) == ("queued", None)
    dispatching.queue.cache_clear()
    _make_due(job)
    assert reconciling.dispatch_due() == 1
    job.refresh_from_db()
    assert job.dispatched_at is not None
    head = dispatching.head("interactive")
    assert head == (job.pk, job.dispatch_no)


def _make_due(job: Job) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE job SET dispatch_at = clock_timestamp() WHERE id = %s", [job.pk])


def test_a_message_that_is_lost_is_sent_again_and_one_that_waits_is_not(tenant: Tenant) -> None:
    one, two = jobs.submit(kind="probe.idle", key="a"), jobs.submit(kind="probe.idle", key="b")
    for job in (one, two):
        _make_due(job)
    assert reconciling.dispatch_due() == 0  # both wait in their queue
    assert dispatching.broker().llen("rq:queue:interactive") == 2
    dispatching.broker().flushdb()  # the broker was restarted empty
    for job in (one, two):
        _make_due(job)
    assert reconciling.dispatch_due() == 2
    assert {dispatching.head("interactive")[0]} <= {one.pk, two.pk}


@pytest.mark.proves("record#07")
@pytest.mark.parametrize(
    "value", ["two words", "<script>", "a" * 201, True, 1.5, None, {"a": 1}, "\x00", "caf\u00e9 au lait", "\udc80"]
)
def test_an_argument_is_an_identifier(tenant: Tenant, value: object) -> None:
    with pytest.raises(ValueError, match="no identifier"):
        jobs.submit(kind="probe.idle", key="a", arguments={"content": value})  # type: ignore[dict-item]  # the point
    assert not Job.objects.exists()


@pytest.mark.proves("record#07")
def test_what_reaches_the_broker_is_the_jobs_id_and_the_dispatchs_number(tenant: Tenant) -> None:
    job = jobs.submit(kind="probe.idle", key="k-17", arguments={"plan": "secret-looking"})
    broker = redis.Redis.from_url(settings.REDIS_URL)
    message = broker.hgetall(f"rq:job:{job.pk}-1")
    assert message[b"description"] == b"a job"
    everything = repr({key: _read(broker, key) for key in broker.keys("*")})
    for absent in ("secret-looking", "k-17", "probe.idle", tenant.slug):
        assert absent not in everything


def _read(broker: redis.Redis, key: bytes) -> object:
    kind = broker.type(key)
    readers = {b"hash": broker.hgetall, b"string": broker.get, b"set": broker.smembers}
    if kind in readers:
        return readers[kind](key)
    return broker.lrange(key, 0, -1) if kind == b"list" else broker.zrange(key, 0, -1)


def test_an_unknown_kind_cannot_be_submitted_without_its_definition(tenant: Tenant) -> None:
    with pytest.raises(UnknownDefinition):
        jobs.submit(kind="no.such", key="a")


def test_a_job_of_a_kind_that_no_code_knows_is_left_with_one_alert(tenant: Tenant) -> None:
    job = jobs.submit(kind="probe.idle", key="a")
    with connection.cursor() as cursor:
        columns = "tenant_id, submission_key, queue, arguments, lease, max_duration, event_no"
        cursor.execute(
            f"INSERT INTO job (kind, {columns}) SELECT 'gone.kind', {columns} FROM job WHERE id = %s RETURNING id",
            [job.pk],
        )
        unknown = Job.objects.get(pk=cursor.fetchone()[0])
    for _turn in range(3):
        _make_due(unknown)
        reconciling.reconcile()
    unknown.refresh_from_db()
    assert (unknown.state, unknown.dispatched_at) == ("queued", None)
    assert list(unknown.events.values_list("name", flat=True)) == ["unknown-kind"]
