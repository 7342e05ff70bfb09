"""Codes that other systems took twice, refused too early, or could not hand to a phone; through the confirming page."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from uuid import uuid4

import pytest
from django.test import Client

from backoffice.commands import Actor
from backoffice.livesettings.models import SettingValue
from backoffice.stepup import codes, enrolling, spending
from backoffice.stepup.models import Device, StepUp, Throttle
from backoffice.tenants.models import Tenant, User
from queues.money.models import Plan
from tests.making_codes import SECRET, make_device
from tests.making_money import make_payouts, make_plan

ROOT = Path(__file__).resolve().parents[2]
RFC_TIME, RFC_CODE = 1_111_111_109, "081804"


@pytest.fixture
def finance(make_person: Callable[..., User]) -> User:
    return make_person(roles=("finance",), password="a long password of words")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Set the time by which codes are judged."""
    return lambda seconds: monkeypatch.setattr(spending, "database_time", lambda: seconds)


def confirm(client: Client, plan: Plan, code: str) -> Any:
    Throttle.objects.all().delete()  # what is tested here is the code, not the wait after a wrong one
    fields = {"key": uuid4().hex, "code": code, "digest": plan.digest}
    return client.post(f"/t/acme/plans/{plan.pk}/confirm/", fields)


def said(answer: Any) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", answer.content.decode())).split())


@pytest.mark.case("TP-01")
def test_a_code_is_right_once_then_wrong_in_every_session_and_after_a_restart(
    finance: User, tenant: Tenant, client_for: Callable[..., Client], clock: Callable[[float], None]
) -> None:
    clock(RFC_TIME)
    make_device(finance, secret=SECRET)
    Device.objects.update(usable_at=datetime(2000, 1, 1, tzinfo=UTC))
    plans = [make_plan(finance, make_payouts(1)) for _ in range(4)]
    first, second = client_for(finance), client_for(finance)
    assert confirm(first, plans[0], RFC_CODE).status_code == 302
    for client in (first, second):
        answer = confirm(client, plans[1], RFC_CODE)
        assert answer.status_code == 422 and "This code was already used." in said(answer)
    Throttle.objects.all().delete()
    script = (
        "from backoffice import stepup; from backoffice.errors import Refusal; from backoffice.stepup import spending\n"
        "from backoffice.tenants import scope; from backoffice.tenants.models import Tenant, User\n"
        f"spending.database_time = lambda: {RFC_TIME}\n"
        "with scope.open(Tenant.objects.get(slug='acme')):\n"
        "    try:\n"
        f"        stepup.confirm(person=User.objects.get(pk={finance.pk}), code='{RFC_CODE}', plan_id={plans[2].pk},"
        f" digest='{plans[2].digest}')\n"
        "    except Refusal as refusal: print('refused:', refusal.code)\n"
    )
    command = [sys.executable, "manage.py", "shell", "--no-imports", "-c", script]
    restarted = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "refused: code-used" in restarted.stdout, restarted.stderr[-2_000:]
    assert StepUp.objects.count() == 1 and Plan.objects.exclude(state="draft").count() == 1


@pytest.mark.case("TP-03")
@pytest.mark.parametrize(("second", "accepted"), [(31, True), (59, True), (61, False), (90, False)])
def test_a_code_lives_one_step_longer_than_it_is_shown(
    second: int,
    accepted: bool,
    finance: User,
    tenant: Tenant,
    client_for: Callable[..., Client],
    clock: Callable[[float], None],
) -> None:
    ten = datetime(2026, 6, 1, 10, 0, tzinfo=UTC).timestamp()
    make_device(finance, secret=SECRET)
    Device.objects.update(usable_at=datetime(2000, 1, 1, tzinfo=UTC))
    old = codes.code_of(secret=SECRET, step=codes.step_at(ten))  # its step ends at 10:00:30
    clock(ten + second)
    answer = confirm(client_for(finance), make_plan(finance, make_payouts(1)), old)
    assert (answer.status_code == 302) is accepted
    assert accepted or "The code is wrong." in said(answer)


def test_a_phone_that_is_ahead_ends_the_codes_before_it(
    finance: User, tenant: Tenant, client_for: Callable[..., Client], clock: Callable[[float], None]
) -> None:
    make_device(finance, secret=SECRET)
    Device.objects.update(usable_at=datetime(2000, 1, 1, tzinfo=UTC))
    client, step = client_for(finance), codes.step_at(RFC_TIME)
    clock(RFC_TIME)
    ahead, now = (codes.code_of(secret=SECRET, step=step + n) for n in (1, 0))
    assert confirm(client, make_plan(finance, make_payouts(1)), ahead).status_code == 302
    assert "already used" in said(confirm(client, make_plan(finance, make_payouts(1)), now))
    clock(RFC_TIME + 60)  # the device's own next code is right again
    later = codes.code_of(secret=SECRET, step=step + 2)
    assert confirm(client, make_plan(finance, make_payouts(1)), later).status_code == 302


@pytest.mark.case("TP-05")
@pytest.mark.parametrize(
    ("name", "email"),
    [
        ("A&B Pay: Ops", "x y@acme.example"),
        ("50% #1 + ?=/", "jörg+1@acme.example"),
        ('"quoted" <b>', "a:b@acme.example"),
        ("株式会社 😀 \u202e", "o'neil@acme.example"),
    ],
)
def test_the_address_in_the_qr_image_gives_back_issuer_account_and_secret(
    name: str, email: str, tenant: Tenant, finance: User, make_person: Callable[..., User]
) -> None:
    tenant.name = name
    tenant.save()
    User.objects.filter(pk=finance.pk).update(email=email)
    finance.refresh_from_db()
    SettingValue.objects.create(tenant=tenant, name="stepup.device_wait_hours", value=0)
    proof = enrolling.issue_code(
        actor=Actor.person(make_person(roles=("supervisor",))), person_id=finance.pk, key="issue"
    )
    started = enrolling.start(
        person=finance, name="Phone", password="a long password of words", proof=proof, key="start"
    )
    parts = urlsplit(started.uri)
    fields = parse_qs(parts.query, strict_parsing=True)
    assert fields == {"secret": [started.secret], "issuer": [f"Backoffice ({name})"]}
    assert "&" not in parts.path and ("&" not in name or "%26" in started.uri)
    issuer, _, account = parts.path.lstrip("/").partition(":")
    assert (unquote(issuer), unquote(account)) == (f"Backoffice ({name})", email)


@pytest.mark.case("TP-05")
def test_issuer_and_account_of_the_case_come_back_whole() -> None:
    uri = codes.enrolment_uri(secret=SECRET, issuer="A&B Pay: Ops", account="x y")
    fields = parse_qs(urlsplit(uri).query)
    assert (fields["issuer"], fields["secret"]) == (["A&B Pay: Ops"], [SECRET])
    assert uri.count("A%26B%20Pay%3A%20Ops") == 2 and "x%20y" in uri
