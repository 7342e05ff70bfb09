"""The demo is made once, quickly, by commands, and only where a demo belongs; real tenants and people too."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from django.core.management import CommandError, call_command
from django.test import override_settings

from backoffice.audit.models import AuditEvent
from backoffice.tenants import scope
from backoffice.tenants.models import Membership, Tenant, User
from queues import demo
from queues.models import AccountReview, Dispute, Payout

pytestmark = pytest.mark.usefixtures("database")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    call_command(*arguments)
    return capsys.readouterr().out.strip()


@override_settings(DEMO=True)
def test_the_demo_is_made_once_and_quickly(capsys: pytest.CaptureFixture[str]) -> None:
    started = time.monotonic()
    run(capsys, "demo", "seed")
    assert time.monotonic() - started < 6  # measured 2 s on a quiet machine
    for slug, *_rest in demo.TENANTS:
        with scope.open(Tenant.objects.get(slug=slug, demo=True)):
            assert (Payout.objects.count(), Dispute.objects.count(), AccountReview.objects.count()) == (2000, 1500, 800)
            assert not Payout.objects.filter(state="pending", score=None).exists()
            assert 250 < Payout.objects.filter(state="approved").count() < 500
            assert set(Payout.objects.values_list("currency", flat=True)) >= {"GBP", "EUR", "USD", "JPY", "KWD"}
            assert not Payout.objects.filter(currency="JPY").exclude(amount__endswith="0000").exists()
            assert set(AuditEvent.objects.values_list("act", flat=True)) >= {"demo.people", "demo.fill"}
            before = list(Payout.objects.order_by("pk").values())
            assert run(capsys, "demo", "seed") == "The demo is there already."
            assert list(Payout.objects.order_by("pk").values()) == before


@override_settings(DEMO=True)
def test_the_accounts_sign_in_with_the_printed_password_and_finance_has_a_code(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run(capsys, "demo", "seed")
    said = run(capsys, "demo", "accounts")
    assert demo.password() in said and "staff@acme.example" in said and "operator@platform.example" in said
    assert len(demo.accounts()) == 15
    assert User.objects.get(email="staff@acme.example").check_password(demo.password())
    assert run(capsys, "demo", "code", "finance@acme.example").isdigit()
    for address in ("nobody@acme.example", "staff@acme.example"):
        with pytest.raises(CommandError):
            run(capsys, "demo", "code", address)


@override_settings(DEMO=False)
def test_the_demo_stays_out_of_a_database_of_ones_own() -> None:
    for act in ("seed", "accounts"):
        with pytest.raises(CommandError, match="--demo"):
            call_command("demo", act)
    assert not User.objects.exists()


@override_settings(DEMO=True)
def test_the_demo_leaves_a_real_tenant_of_its_name_alone(tenant: Tenant) -> None:
    with pytest.raises(CommandError, match="real one"):
        call_command("demo", "seed")
    assert not Payout.objects.exists()


def test_real_tenants_and_people_are_made_from_the_shell(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "tenants", "create", "initech", "Initech", "--time-zone", "Europe/Berlin")
    assert "initech\tInitech\tEurope/Berlin" in run(capsys, "tenants", "list")
    said = run(capsys, "people", "invite", "Bill@Example.com", "Bill", "--tenant", "initech", "--role", "staff")
    person = User.objects.get(email="bill@example.com")
    assert person.check_password(said.rsplit(": ", 1)[1])
    said = run(
        capsys, "people", "invite", "bill@example.com", "Bill", "--tenant", "initech", "--role", "staff", "--role",
        "supervisor",
    )  # fmt: skip
    assert "keeps the password" in said
    with scope.open(Tenant.objects.get(slug="initech")):
        assert Membership.objects.get().roles == ["staff", "supervisor"]
        assert AuditEvent.objects.filter(act="person.invite", actor="system:shell").count() == 2
    for arguments, words in (
        (("tenants", "create", "initech", "Again"), "taken"),
        (("tenants", "create", "Bad Slug", "x"), "lower-case"),
        (("people", "invite", "a@b.example", "A", "--tenant", "none", "--role", "staff"), "no tenant"),
        (("people", "invite", "a@b.example", "A", "--tenant", "initech", "--role", "operator"), "platform tenant only"),
        (("people", "invite", "nonsense", "A", "--tenant", "initech", "--role", "staff"), "valid email"),
    ):
        with pytest.raises(CommandError, match=words):
            call_command(*arguments)


def test_rescoring_from_the_shell_says_what_changed(
    tenant: Tenant, make_person: Callable[..., User], capsys: pytest.CaptureFixture[str]
) -> None:
    assert "acme payouts: 0 changed" in run(capsys, "rescore", "payouts", "--tenant", "acme")
    with pytest.raises(CommandError, match="No scored queue is named reviews"):
        call_command("rescore", "reviews")
