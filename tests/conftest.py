"""Fixtures over the real servers that tests/servers.py started."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
import redis
from django.conf import settings
from django.core.management import call_command
from django.db import connections
from django.test import Client

from backoffice.storage import objects
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant, User
from tests import factories

pytest_plugins = ["tests.proofs", "tests.chromium"]

# Rows that migrations make, kept between tests.
KEPT = {"django_migrations", "django_content_type", "auth_permission", "tenants_tenant"}


@pytest.fixture(scope="session")
def django_db_setup() -> None:
    """Take the place of pytest-django's own test database: ours is the run's, as in production."""


@pytest.fixture(scope="session")
def superuser() -> Iterator[psycopg.Connection[Any]]:
    """Connect as the superuser, for cleaning up between tests and for looking behind row security."""
    address = os.environ["DATABASE_SUPERUSER_URL"].rsplit("/", 1)[0] + "/backoffice"
    with psycopg.connect(address, autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="session")
def migrated(django_db_blocker: Any) -> None:
    """Migrate the run's database once, as the owner."""
    with django_db_blocker.unblock():
        call_command("migrate", database="owner", interactive=False, verbosity=0)
        connections["owner"].close()


def _empty(superuser: psycopg.Connection[Any]) -> None:
    tables = [
        row[0]
        for row in superuser.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        if row[0] not in KEPT
    ]
    held = " UNION ALL ".join(f"SELECT '{t}' WHERE EXISTS (SELECT 1 FROM {t})" for t in tables)
    filled = [row[0] for row in superuser.execute(held)]
    if filled:
        superuser.execute(f"TRUNCATE {', '.join(filled)} CASCADE")
    superuser.execute("DELETE FROM tenants_tenant WHERE id <> 1")


def _empty_bucket() -> None:
    client = objects.client()
    held = client.list_objects_v2(Bucket=settings.S3_BUCKET, Prefix="tenants/").get("Contents", [])
    if held:
        named = [{"Key": one["Key"]} for one in held]
        client.delete_objects(Bucket=settings.S3_BUCKET, Delete={"Objects": named})


@pytest.fixture
def database(migrated: None, superuser: psycopg.Connection[Any], django_db_blocker: Any) -> Iterator[None]:
    """Let the test use the database with real transactions; empty its tables afterwards."""
    with django_db_blocker.unblock():
        yield
        for connection in connections.all():
            connection.close()
    superuser.execute("SET lock_timeout = '20s'")
    # A process that a test started and stopped may still be letting go of its connection.
    _empty(superuser)
    valkey = redis.Redis.from_url(settings.REDIS_URL)
    valkey.flushdb()
    valkey.close()
    _empty_bucket()


@pytest.fixture
def tenant(database: None) -> Iterator[Tenant]:
    """Make a tenant and open its scope for the test."""
    with scope.open(factories.make_tenant(slug="acme", name="Acme")) as opened:
        yield opened


@pytest.fixture
def other_tenant(database: None) -> Tenant:
    """Make a second tenant, whose data the first must never meet."""
    return factories.make_tenant(slug="globex", name="Globex")


@pytest.fixture
def make_person(tenant: Tenant) -> Callable[..., User]:
    """Make a person; in the test's tenant unless another is named."""

    def make(**wanted: Any) -> User:
        return factories.make_person(**{"tenant": tenant, **wanted})

    return make


@pytest.fixture
def client_for() -> Callable[[User, Tenant], Client]:
    """Return a signed-in test client. Its paths carry the tenant: f"/t/{tenant.slug}/..."."""

    def sign_in(person: User, tenant: Tenant | None = None) -> Client:
        client = Client(raise_request_exception=False)
        client.force_login(person)
        return client

    return sign_in
