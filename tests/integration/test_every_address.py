"""Every address, every method, hostile fields and ids: an answer that says no, never a broken page, and no change."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from backoffice.audit.models import AuditEvent
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant, User
from queues import queues
from queues.money.models import Plan
from tests import factories, making_money
from tests.making_items import make_dispute, make_payouts, make_review

ROLES = ("staff", "finance", "supervisor", "analyst", "auditor")
FIELDS = [
    *("key", "ids", "ids[]", "all", "act", "action", "to", "reason", "note", "text", "until", "preset", "token"),
    *("version", "name", "shared", "encoding", "code", "digest", "email", "roles", "person", "value", "score", "days"),
    *("input", "filters", "columns", "cols", "state", "q", "claim", "opened_from", "opened_to", "as_of", "password"),
    *("proof", "language", "time_zone", "next", "confirm", "item", "after", "before"),
]
# As they travel: NUL, a lone surrogate, no UTF-8 at all, right-to-left marks, full-width digits, huge and odd numbers.
HOSTILE = [
    "%00",
    "a%00b",
    "%ED%A0%80",
    "%FF%FE",
    "%E2%80%AE1",
    "%EF%BC%91%EF%BC%92",
    "-0",
    "NaN",
    "1e400",
    "99999999999999999999999999",
    "-1",
    "%3Dcmd%7C%27%20%2FC%20calc%27%21A1",
    quote("😀" * 300),
    "9999-12-31T23:59:60",
    "0000-00-00",
    "x" * 20_000,
]


def addresses(number: int, word: str) -> Iterator[tuple[str, str]]:
    """Yield (pattern, path below the tenant) of every page, its numbers and words filled in."""

    def walk(patterns: list[Any], before: str) -> Iterator[str]:
        for one in patterns:
            if isinstance(one, URLResolver):
                if one.namespace != "admin":
                    yield from walk(one.url_patterns, before + str(one.pattern))
            elif isinstance(one, URLPattern) and one.name not in {"sign-in", "sign-out"}:  # which end the session
                yield before + str(one.pattern)

    for pattern in walk(get_resolver().url_patterns, ""):
        filled = re.sub(r"<int:\w+>", str(number), pattern)
        filled = re.sub(r"<slug:queue>", word, filled)
        filled = re.sub(r"<(?:slug|str):(?:name|export)>", "payouts", filled)
        yield pattern, re.sub(r"<\w+:\w+>", "hold", filled)


@pytest.fixture
def everything(tenant: Tenant, make_person: Callable[..., User], client_for: Callable[..., Client]) -> Iterator[Client]:
    person = make_person(roles=ROLES)
    make_payouts(tenant=tenant, count=3)
    make_dispute(tenant=tenant)
    make_review(tenant=tenant)
    making_money.make_plan(person, making_money.make_payouts(2))
    yield (client := client_for(person))
    assert client.get("/t/acme/me/").status_code == 200, "the person was signed in all along"


@pytest.mark.parametrize("method", ["get", "head", "options", "put", "patch", "delete", "trace"])
def test_no_method_breaks_an_address_and_none_but_post_changes_anything(method: str, everything: Client) -> None:
    done = AuditEvent.objects.filter(outcome="done").count()
    for number in (_first("payouts"), 10**30):
        for pattern, path in addresses(number, "payouts"):
            response = everything.generic(method.upper(), f"/t/acme/{path}", b'{"key": "k"}', "application/json")
            assert response.status_code < 500, (pattern, response.status_code)
            assert method not in {"put", "patch", "delete", "trace"} or response.status_code >= 300, pattern
    assert AuditEvent.objects.filter(outcome="done").count() == done


@pytest.mark.parametrize("kind", ["application/json", "multipart/form-data; boundary=x", "text/plain"])
def test_a_body_that_is_no_form_is_refused_in_words(kind: str, everything: Client) -> None:
    bodies = [json.dumps(dict.fromkeys(FIELDS, "1")).encode(), b"--x\r\nbroken", b"\xff" * 50]
    for pattern, path in addresses(_first("payouts"), "payouts"):
        for body in bodies:
            response = everything.generic("POST", f"/t/acme/{path}", body, kind)
            assert response.status_code < 500, (pattern, body[:20], response.status_code)


@pytest.mark.parametrize(
    ("queue", "value"),
    [*[("payouts", value) for value in HOSTILE], *[(q, v) for q in ("disputes", "reviews") for v in HOSTILE[:4]]],
    ids=lambda value: value[:12],
)
def test_hostile_values_in_every_field_get_a_page_that_says_no(queue: str, value: str, everything: Client) -> None:
    body = "&".join(f"{quote(name)}={value}" for name in FIELDS)
    for at, (pattern, path) in enumerate(addresses(_first(queue), queue)):
        if queue != "payouts" and "<slug:queue>" not in pattern:
            continue
        sent = f"{body}&{body}" if at % 2 else body  # every other one with each field twice
        response = everything.generic("POST", f"/t/acme/{path}", sent, "application/x-www-form-urlencoded")
        assert response.status_code < 500, (pattern, response.status_code)
        if len(value) < 2_000:
            assert everything.get(f"/t/acme/{path}?{body}").status_code < 500, pattern


@pytest.mark.case("TA-01")
def test_ids_of_another_tenant_change_nothing_at_any_address(
    everything: Client, tenant: Tenant, other_tenant: Tenant, superuser: Any
) -> None:
    with scope.open(other_tenant):
        stranger = factories.make_person(tenant=other_tenant, roles=ROLES)
        theirs = [make_payouts(tenant=other_tenant, count=2)[0], make_dispute(tenant=other_tenant)]
        theirs.append(make_review(tenant=other_tenant))
        plan = making_money.make_plan(stranger, making_money.make_payouts(2))
    before = _rows(superuser, other_tenant)
    ids = {*(item.pk for item in theirs), plan.pk, stranger.pk}
    for number in sorted(ids):
        body = "&".join(f"{quote(name)}={number}" for name in FIELDS if name not in {"reason", "note"})
        body += "&reason=x&note=x"
        for queue in ("payouts", "disputes", "reviews"):
            for pattern, path in addresses(number, queue):
                if queue != "payouts" and "<slug:queue>" not in pattern:
                    continue
                response = everything.generic("POST", f"/t/acme/{path}", body, "application/x-www-form-urlencoded")
                assert response.status_code < 500, (pattern, response.status_code)
    assert _rows(superuser, other_tenant) == before
    assert not Plan.objects.filter(lines__item_id__in=[item.pk for item in theirs]).exists()


def _first(queue: str) -> int:
    return int(queues.get(queue).model.objects.order_by("pk").values_list("pk", flat=True)[0])


def _rows(superuser: Any, tenant: Tenant) -> dict[str, Any]:
    """Return a digest of everything that the database holds of the tenant, behind row security."""
    tables = superuser.execute(
        "SELECT table_name FROM information_schema.columns WHERE table_schema = 'public' AND column_name = 'tenant_id'"
    ).fetchall()
    return {
        name: superuser.execute(
            f"SELECT count(*), md5(string_agg(t::text, '|' ORDER BY t::text)) FROM {name} t WHERE tenant_id = %s",
            [tenant.pk],
        ).fetchone()
        for (name,) in tables
    }
