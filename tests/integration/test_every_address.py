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


LOOKUP = "/t/acme/admin/queues/payout/"


@pytest.mark.parametrize(
    ("query", "statuses"),
    [
        ("tenant__slug=globex", {400}),
        ("claim_holder__password__startswith=p", {400}),
        ("_to_field=password", {400}),
        ("state__exact=%00", {302}),
        ("q=a%00", {200}),
        ("opened_at__year=99999", {302}),
        ("opened_at__gt=0000-00-00", {302}),
        ("amount__gt=NaN", {302}),
        ("amount__gt=1e400", {200}),
        ("id__in=" + "1," * 5_000, {302}),
        ("p=99999999999999999999", {200, 302}),
        ("o=99.-3.x", {200}),
        ("q=%ED%A0%80", {200}),
    ],
)
def test_the_look_ups_filters_neither_break_nor_reach_further(
    query: str, statuses: set[int], everything: Client
) -> None:
    assert everything.get(f"{LOOKUP}?{query}").status_code in statuses


@pytest.mark.case("TA-06")
def test_the_stock_sites_own_doors_show_and_change_nothing(everything: Client, other_tenant: Tenant) -> None:
    with scope.open(other_tenant):
        factories.make_person(tenant=other_tenant, name="Agnes Abroad")
    for field in ("claim_holder", "tenant", "override_by"):
        asked = f"autocomplete/?app_label=queues&model_name=payout&field_name={field}&term=a"
        answer = everything.get(f"/t/acme/admin/{asked}")
        assert answer.status_code == 403 and b"Agnes" not in answer.content
    password = User.objects.get(pk=everything.session["_auth_user_id"]).password
    fields = {"old_password": "x", "new_password1": "a long one of words", "new_password2": "a long one of words"}
    for answer in (
        everything.get("/t/acme/admin/password_change/"),
        everything.post("/t/acme/admin/password_change/", fields),
    ):
        assert (answer.status_code, answer["Location"]) == (302, "/t/acme/me/")
    assert User.objects.get(pk=everything.session["_auth_user_id"]).password == password
    number = _first("payouts")
    for address in ("add/", f"{number}/delete/", f"{number}/change/"):
        assert everything.post(LOOKUP + address, {"reference": "x", "post": "yes"}).status_code == 403
    assert everything.get("/t/acme/admin/tenants/user/").status_code == 404


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
