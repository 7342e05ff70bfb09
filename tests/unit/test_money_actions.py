"""`manage.py check` names what is wrong with a money action, one id an option."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from backoffice.commands.registering import Command
from backoffice.tenants.models import Membership
from queues import money
from queues.definitions.release_payouts import ReleasePayouts
from queues.models import Dispute, Payout
from queues.money import Limit, MoneyAction
from queues.money.digesting import Fact, digest_of


def _ids(**options: Any) -> list[str]:
    action = type("Changed", (ReleasePayouts,), options)()
    return [str(message.id) for message in action.check()]


def test_the_release_of_payouts_is_well_declared() -> None:
    assert money.actions.get("payout.release").check() == []


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"name": "Release!"}, ["money.E001"]),
        ({"title": ""}, ["money.E002"]),
        ({"model": Membership}, ["money.E003"]),
        ({"model": Dispute}, ["money.E003", "money.E003"]),  # no money_version, no plan_id
        ({"command": None}, ["money.E004"]),
        ({"command": Command("x", print, "queues.work_payout", ("plan",), frozenset(), "")}, ["money.E004"]),  # type: ignore[arg-type]  # never run
        ({"confirm_by": "password"}, ["money.E005"]),
        ({"max_items": 0}, ["money.E006"]),
        ({"max_items": 10_001}, ["money.E006"]),
        ({"limits": {}}, ["money.E007"]),
        ({"limits": {"EUR": Limit(total=1), "XAU": Limit(total=1)}}, ["money.E007"]),
        ({"limits": {"EUR": Limit(total=0)}}, ["money.E008"]),
        ({"rail": "pigeon"}, ["money.E009"]),
    ],
)
@pytest.mark.proves("jobs#confirm-bulk-money-actions-out-of-band")
def test_a_wrong_option_is_named(options: dict[str, Any], found: list[str]) -> None:
    assert _ids(**options) == found


def test_a_definition_describes_itself() -> None:
    described = money.actions.get("payout.release").describe()
    assert (described["confirm_by"], described["command"], described["model"]) == (
        "totp",
        "payout.release",
        Payout._meta.label,
    )
    assert issubclass(ReleasePayouts, MoneyAction)


_FACT = Fact(1, "P-1", "Ann", "GB00", Decimal("10.00"), "EUR", 3)


@pytest.mark.parametrize(
    "changed",
    [
        {"item_id": 2},
        {"payee": "Anne"},
        {"account": "GB01"},
        {"amount": Decimal("10.01")},
        {"currency": "USD"},
        {"money_version": 4},
        {"payee": 'Ann","GB00'},
    ],
)
def test_the_digest_changes_with_every_fact(changed: dict[str, Any]) -> None:
    other = Fact(**{**_FACT.__dict__, **changed})
    assert digest_of(action="payout.release", facts=[_FACT]) != digest_of(action="payout.release", facts=[other])


def test_the_digest_does_not_depend_on_how_a_decimal_is_spelt() -> None:
    spelt = Fact(**{**_FACT.__dict__, "amount": Decimal("10.0000")})
    assert digest_of(action="a", facts=[_FACT]) == digest_of(action="a", facts=[spelt])
    assert digest_of(action="a", facts=[_FACT]) != digest_of(action="b", facts=[_FACT])
