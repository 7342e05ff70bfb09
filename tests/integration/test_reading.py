"""The reporting connection reads one tenant at one instant, writes nothing, and stops when told."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import Error, connection, connections

from backoffice import reading
from backoffice.audit import recording
from backoffice.audit.models import AuditEvent
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant

MINUTE = timedelta(minutes=1)


def record(actor: str) -> None:
    recording.record(actor=actor, actor_user_id=None, act="test")


@pytest.fixture
def two_tenants(tenant: Tenant, other_tenant: Tenant) -> None:
    for place in (tenant, other_tenant):
        with scope.open(place):
            record(place.slug)


@pytest.mark.proves("jobs#apply-item-read-authorization")
def test_without_any_predicate_only_the_open_tenants_rows_are_read(
    two_tenants: None, tenant: Tenant, other_tenant: Tenant
) -> None:
    with reading.session(tenant=tenant, timeout=MINUTE, name="test:1") as session:
        assert session.rows("SELECT actor FROM audit_auditevent") == [("acme",)]
        assert b"".join(session.copy_rows("COPY (SELECT actor FROM audit_auditevent) TO STDOUT")) == b"acme\n"
    with scope.open(other_tenant), reading.session(tenant=other_tenant, timeout=MINUTE, name="test:2") as session:
        assert session.rows("SELECT actor FROM audit_auditevent") == [("globex",)]


@pytest.mark.proves("jobs#apply-item-read-authorization")
def test_with_no_tenant_set_nothing_is_read(two_tenants: None, tenant: Tenant) -> None:
    with reading.session(tenant=tenant, timeout=MINUTE, name="test:1") as session:
        session.rows("SELECT set_config('backoffice.tenant', '', true)")
        assert session.rows("SELECT actor FROM audit_auditevent") == []


def test_a_session_is_of_the_open_tenant(tenant: Tenant, other_tenant: Tenant) -> None:
    with pytest.raises(ValueError, match="open tenant"), reading.session(tenant=other_tenant, timeout=MINUTE, name="x"):
        pass


def test_a_session_writes_nothing(two_tenants: None, tenant: Tenant) -> None:
    for statement in ("DELETE FROM audit_auditevent", "CREATE TABLE x (y int)"):
        with (
            pytest.raises(Error, match=r"permission denied|read-only"),
            reading.session(tenant=tenant, timeout=MINUTE, name="x") as session,
        ):
            session.rows(statement)


def test_values_are_bound_also_in_a_copy(two_tenants: None, tenant: Tenant) -> None:
    hostile = "acme' OR '1'='1"
    with reading.session(tenant=tenant, timeout=MINUTE, name="test:1") as session:
        query = "SELECT actor FROM audit_auditevent WHERE actor = %s"
        assert session.rows(query, [hostile]) == []
        assert list(session.copy_rows(f"COPY ({query}) TO STDOUT", [hostile])) == []
        assert b"".join(session.copy_rows(f"COPY ({query}) TO STDOUT", ["acme"])) == b"acme\n"


def test_all_that_a_session_reads_is_of_one_instant(tenant: Tenant) -> None:
    record("before")
    with reading.session(tenant=tenant, timeout=MINUTE, name="test:1") as session:
        assert session.rows("SELECT count(*) FROM audit_auditevent") == [(1,)]
        record("meanwhile")
        assert session.rows("SELECT count(*) FROM audit_auditevent") == [(1,)]
        assert AuditEvent.objects.using(reading.ALIAS).count() == 1
    assert AuditEvent.objects.count() == 2


def test_times_come_in_the_tenants_zone_and_are_the_same_instants(tenant: Tenant) -> None:
    tenant.time_zone = "Asia/Bangkok"
    tenant.save()
    record("here")
    at = AuditEvent.objects.get().at
    with reading.session(tenant=tenant, timeout=MINUTE, name="test:1") as session:
        [(read,)] = session.rows("SELECT at FROM audit_auditevent")
        [(text,)] = session.rows("SELECT to_json(at) #>> '{}' FROM audit_auditevent")
    assert read == at and text.endswith("+07:00")


def test_a_statement_that_runs_too_long_is_stopped_by_the_server(tenant: Tenant) -> None:
    started = time.monotonic()
    with (
        pytest.raises(reading.TimedOut),
        reading.session(tenant=tenant, timeout=timedelta(seconds=0.5), name="test:1") as session,
    ):
        session.rows("SELECT pg_sleep(30)")
    assert time.monotonic() - started < 5


def test_many_short_statements_run_into_the_same_limit(tenant: Tenant) -> None:
    def read() -> None:
        with reading.session(tenant=tenant, timeout=timedelta(seconds=0.5), name="test:1") as session:
            for _ in range(100):
                session.rows("SELECT pg_sleep(0.1)")

    with pytest.raises(reading.TimedOut):
        read()


@pytest.mark.proves("jobs#support-report-cancellation")
def test_cancelling_ends_the_query_on_the_server(tenant: Tenant, django_db_blocker: object) -> None:
    caught: list[BaseException] = []

    def read() -> None:
        with scope.open(tenant):
            try:
                with reading.session(tenant=tenant, timeout=MINUTE, name="export:17") as session:
                    for _ in session.copy_rows("COPY (SELECT pg_sleep(60)) TO STDOUT"):
                        pass
            except BaseException as error:
                caught.append(error)

    def running() -> int:
        return _sessions("export:17", "%pg_sleep(60)%")

    reader = threading.Thread(target=read)
    reader.start()
    _until(lambda: running() == 1)
    assert reading.cancel(name="export:18") == 0
    assert reading.cancel(name="export:17") == 1
    reader.join(10)
    assert not reader.is_alive()
    assert [type(error) for error in caught] == [reading.Cancelled]
    _until(lambda: running() == 0)


def test_a_session_leaves_no_connection_behind(tenant: Tenant) -> None:
    with (
        reading.session(tenant=tenant, timeout=MINUTE, name="test:left"),
        pytest.raises(RuntimeError),
        reading.session(tenant=tenant, timeout=MINUTE, name="test:nested"),
    ):
        pass
    _until(lambda: _sessions("test:%", "") == 0)
    assert reading.ALIAS not in connections.settings


def _sessions(name: str, query: str) -> int:
    """Count the server's sessions of this name; those that are busy with the query, when one is given."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE application_name LIKE %s AND (%s = '' OR (query LIKE %s AND state = 'active'))",
            [name, query, query],
        )
        return int(cursor.fetchone()[0])


def _until(true: Callable[[], bool], *, within: float = 10) -> None:
    until = time.monotonic() + within
    while not true():
        assert time.monotonic() < until, "it did not come true in time"
        time.sleep(0.05)
