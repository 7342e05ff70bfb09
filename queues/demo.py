"""The demo: two tenants, their people and a few thousand items, made by commands and made once.

Everything here runs in tenants marked as demo only, apart from the operator, who belongs to the
platform. All demo people share one password, which the secret key gives.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.db import connection
from django.utils.translation import gettext as _
from psycopg import sql as names

from backoffice import commands, stepup
from backoffice.commands import Actor, Outcome, command
from backoffice.errors import Refusal
from backoffice.people import founding
from backoffice.tenants import scope
from backoffice.tenants.models import PLATFORM_ID, Membership, Tenant, User
from queues import due_times, generator, reference, scoring
from queues.base import queue_for
from queues.ingest import rates as loading_rates
from queues.models import AccountReview, Dispute, Payout, QueueItem, ReferenceRate

ACTOR = Actor.system("demo", acting_for="first run")
TENANTS = (("acme", "Acme", "Europe/London", "GBP"), ("globex", "Globex", "Europe/Berlin", "EUR"))
PEOPLE = (
    ("staff", "Mateo Álvarez", "staff"),
    ("staff2", "Ingrid Sørensen", "staff"),
    ("supervisor", "Chiamaka Obi", "supervisor"),
    ("finance", "Yuki Tanaka", "finance"),
    ("finance2", "Tomasz Wójcik", "finance"),
    ("analyst", "Priya Raman", "analyst"),
    ("auditor", "Noor Haddad", "auditor"),
)
OPERATOR = ("operator@platform.example", "Olu Adeyemi", "operator")


@dataclass(frozen=True)
class Account:
    """One line of the table that the first run prints."""

    address: str
    role: str
    tenant: str


def password() -> str:
    """Return the password of every demo person: four groups that the secret key gives."""
    digest = hmac.new(settings.SECRET_KEY.encode(), b"backoffice demo password", hashlib.sha256).digest()
    text = base64.b32encode(digest).decode().lower()
    return "-".join(text[place : place + 4] for place in range(0, 16, 4))


def accounts() -> list[Account]:
    """Return the demo people that there are."""
    wanted = [Account(f"{who}@{slug}.example", role, slug) for slug, *_rest in TENANTS for who, _name, role in PEOPLE]
    wanted.append(Account(OPERATOR[0], OPERATOR[2], "platform"))
    known = set(User.objects.filter(email__in=[one.address for one in wanted]).values_list("email", flat=True))
    return [one for one in wanted if one.address in known]


def code(*, address: str) -> str:
    """Return the demo person's current code; refuse an address that is no demo person's with a device."""
    person = User.objects.filter(email__iexact=address).first()
    for tenant in Tenant.objects.filter(demo=True) if person else ():
        with scope.open(tenant):
            if person and Membership.objects.filter(user=person).exists():
                return str(stepup.current_code(person))
    raise Refusal("no-such-account", _("%(address)s is no demo account.") % {"address": address})


def seed(*, now: datetime) -> list[str]:
    """Make what is not there yet; return what was made, in words. A second run makes nothing."""
    made: list[str] = []
    # One hash for all: hashing a password is slow on purpose, and the first run must not be.
    shared = make_password(password(), salt=hashlib.sha256(settings.SECRET_KEY.encode()).hexdigest()[:22])
    platform = Tenant.objects.get(pk=PLATFORM_ID)
    with scope.open(platform):
        _make_people([OPERATOR], shared)
    for slug, name, zone, currency in TENANTS:
        tenant = _tenant(platform, slug, name, zone, currency)
        with scope.open(tenant):
            _make_people([(f"{who}@{slug}.example", name, role) for who, name, role in PEOPLE], shared)
            for who, _name, role in PEOPLE:
                if role == "finance":
                    stepup.enrol_demo(User.objects.get(email=f"{who}@{slug}.example"))
            if not ReferenceRate.objects.exists():
                day, rates = reference.today(now), list(generator.rates(base=currency, today=reference.today(now)))
                commands.dispatch(
                    loading_rates.load_rates, actor=ACTOR, key=f"demo:rates:{day}", sha256="0" * 64, rates=rates
                )
            if not Payout.objects.exists():
                filled = commands.dispatch(fill, actor=ACTOR, key="demo:fill", now=now.isoformat())
                made += [f"{name}: {count:,} {kind}" for kind, count in filled.data.items()]
    return made


def _tenant(platform: Tenant, slug: str, name: str, zone: str, currency: str) -> Tenant:
    tenant = Tenant.objects.filter(slug=slug).first()
    if tenant is None:
        with scope.open(platform):
            commands.dispatch(
                founding.create_tenant,
                actor=ACTOR,
                key=f"demo:tenant:{slug}",
                slug=slug,
                name=name,
                time_zone=zone,
                currency=currency,
                demo=True,
            )
        return Tenant.objects.get(slug=slug)
    if not tenant.demo:
        raise Refusal(
            "not-a-demo", _("The tenant “%(slug)s” is a real one; the demo leaves it alone.") % {"slug": slug}
        )
    return tenant


def _make_people(people: list[tuple[str, str, str]], shared: str) -> None:
    # The key holds the hash: another secret key means another password for the same people.
    key = f"demo:people:{hashlib.sha256(shared.encode()).hexdigest()[:16]}"
    commands.dispatch(make_people, actor=ACTOR, key=key, people=[list(one) for one in people], password_hash=shared)


@command("demo.people", systems=("demo",), secret=("password_hash",))
def make_people(*, actor: Actor, people: list[list[str]], password_hash: str) -> Outcome:
    """Make demo people and their memberships, or give those there are the demo's password again."""
    tenant = scope.current()
    if not tenant.demo and not tenant.is_platform:
        raise Refusal("not-a-demo", _("Only demo tenants have demo people."))
    for address, name, role in people:
        person, _made = User.objects.update_or_create(
            email=address,
            defaults={"password": password_hash},
            create_defaults={"name": name, "password": password_hash},
        )
        Membership.objects.update_or_create(tenant=tenant, user=person, defaults={"roles": [role]})
    return Outcome(target=f"tenant:{tenant.slug}", data={"people": len(people)})


@command("demo.fill", systems=("demo",))
def fill(*, actor: Actor, now: str) -> Outcome:
    """Fill the open demo tenant's queues with generated items, scored."""
    tenant, instant = scope.current(), datetime.fromisoformat(now)
    if not tenant.demo:
        raise Refusal("not-a-demo", _("Only demo tenants have demo items."))
    made = {
        "payouts": _fill(Payout, generator.payouts(tenant=tenant.slug, now=instant), now=instant),
        "disputes": _fill(Dispute, generator.disputes(tenant=tenant.slug, now=instant), now=instant),
        "reviews": _fill(AccountReview, generator.reviews(tenant=tenant.slug, now=instant), now=instant),
    }
    return Outcome(target=f"tenant:{tenant.slug}", data=made)


def _fill(model: type[QueueItem], rows: Iterable[dict[str, Any]], *, now: datetime) -> int:
    """Insert the rows that are not there, by way of a temporary table: COPY refuses one with row security."""
    rows = list(rows)
    parts = {
        "items": names.Identifier(model._meta.db_table),
        "columns": names.SQL(", ").join(map(names.Identifier, rows[0])),
    }
    with connection.cursor() as cursor:
        start = "CREATE TEMPORARY TABLE demo_rows ON COMMIT DROP AS SELECT {columns} FROM {items} LIMIT 0"
        cursor.execute(names.SQL(start).format(**parts))
        with cursor.copy(names.SQL("COPY pg_temp.demo_rows ({columns}) FROM STDIN").format(**parts)) as copy:
            for row in rows:
                copy.write_row(list(row.values()))
        insert = (
            "INSERT INTO {items} (tenant_id, {columns}) SELECT %s, {columns} FROM pg_temp.demo_rows"
            " ON CONFLICT (tenant_id, natural_key) DO NOTHING RETURNING id"
        )
        cursor.execute(names.SQL(insert).format(**parts), [scope.current().pk])
        made = [row[0] for row in cursor.fetchall()]
        cursor.execute("DROP TABLE pg_temp.demo_rows")
    if made:
        scoring.score_range(queue_for(model), first=min(made), last=max(made), now=now, decided=True)
        due_times.keep(queue_for(model), first=min(made), last=max(made))
    return len(made)
