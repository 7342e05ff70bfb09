"""Money that other systems got wrong: signs, digits, minor units, paying twice, totals that differ, who is blamed."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.db import IntegrityError, transaction
from django.test import Client

from backoffice import clock, commands, money
from backoffice.commands import Actor
from backoffice.errors import Refusal
from backoffice.tenants.models import Tenant, User
from queues.definitions.release_payouts import ReleasePayouts
from queues.ingest import loading, rates, spend
from queues.models import Dispute, Payout, ReferenceRate
from queues.money import Limit, executing, ledger, rails
from queues.money.models import Account, Entry, Plan, PlanLine, Transfer
from queues.money.rails import Answer, Order, Rail, Result
from queues.money.releasing import release_payout
from tests.integration.test_executing import OneAttempt
from tests.making_codes import fresh_code, make_device
from tests.making_items import make_dispute
from tests.making_money import make_payout, make_payouts

BASE = "/t/acme/plans/"


class Provider(Rail):
    """A rail of the test that keeps the orders it is given."""

    name = "test-provider"

    def __init__(self) -> None:
        self.orders: list[Order] = []

    def send(self, key: str, order: Order) -> Answer:
        self.orders.append(order)
        return Answer(Result.DONE, reference=f"ref-{key}")

    def ask(self, key: str) -> Answer:
        return Answer(Result.UNKNOWN)


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    rails.register(Provider)
    monkeypatch.setattr(ReleasePayouts, "rail", Provider.name)
    made = rails.rails.get(Provider.name)
    assert isinstance(made, Provider)
    yield made
    del rails.rails._by_name[Provider.name]


@pytest.fixture
def finance(make_person: Callable[..., User]) -> User:
    return make_person(roles=("finance",))


@pytest.fixture
def client(finance: User, client_for: Callable[..., Client]) -> Client:
    return client_for(finance)


def text(response: Any) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", response.content.decode())).split())


def planned(client: Client, payouts: list[Payout]) -> Plan:
    posted = client.post(f"{BASE}new/", {"key": uuid4().hex, "ids[]": [payout.pk for payout in payouts]})
    return Plan.objects.get(pk=int(posted["Location"].split("/")[-2]))


def confirm(client: Client, plan: Plan, code: str, *, key: str = "") -> Any:
    fields = {"key": key or uuid4().hex, "code": code, "digest": plan.digest}
    return client.post(f"{BASE}{plan.pk}/confirm/", fields)


def run(client: Client, person: User, payouts: list[Payout]) -> Plan:
    """Plan, confirm and run the payouts, as a person and a worker do."""
    plan = planned(client, payouts)
    assert confirm(client, plan, fresh_code(make_device(person))).status_code == 302
    executing.run_plan(run=OneAttempt(), plan_id=plan.pk)  # type: ignore[arg-type]  # an attempt without its job
    plan.refresh_from_db()
    return plan


@pytest.mark.case("BM-02")
@pytest.mark.parametrize(("amount", "drop"), [("-5.00", ""), ("0", spend.ZERO), ("5.001", spend.OUT_OF_RANGE)])
def test_a_sum_below_zero_of_zero_or_with_a_third_decimal_is_never_paid(
    amount: str, drop: str, client: Client, provider: Provider, tenant: Tenant, tmp_path: Path
) -> None:
    file = tmp_path / "in.csv"
    file.write_text(f"Trans No,Amount,Supplier ID,Supplier Name\n1,{amount},S1,Ada\n", encoding="utf-8")
    shell = Actor.system("shell", acting_for="test")
    summary = loading.load_file(actor=shell, path=file, currency="USD", now=clock.now())
    assert set(summary.dropped) == ({drop} if drop else set()) and summary.credits == (not drop)
    if amount == "5.001":
        payout = make_payout(amount, "USD")
        plan = planned(client, [payout])
        assert plan.line_count == 0
        assert "USD has 2 decimals; the amount has more." in text(client.get(f"{BASE}{plan.pk}/"))
    else:
        with pytest.raises(IntegrityError), transaction.atomic():
            make_payout(amount, "USD")
        kept = list(Payout.objects.all())
        assert [item.state for item in kept] == ([] if drop else ["credit"])
        assert not kept or planned(client, kept).line_count == 0
    assert provider.orders == [] and not PlanLine.objects.exists() and not Transfer.objects.exists()


@pytest.mark.parametrize("amount", ["NaN", "Infinity", "-Infinity", "sNaN", "1E+400", "1E-400", "1E+27"])
def test_what_is_no_amount_is_neither_stored_nor_exact(amount: str, tenant: Tenant) -> None:
    with pytest.raises(Refusal):
        money.exact(Decimal(amount), "EUR")
    with pytest.raises(Exception, match=r".") as refused, transaction.atomic():
        make_payout(amount, "EUR")
    assert not isinstance(refused.value, AssertionError) and not Payout.objects.exists()


@pytest.mark.case("BM-05")
def test_what_was_paid_already_is_answered_with_the_first_payment_before_and_after_the_run_is_full(
    client: Client, finance: User
) -> None:
    payouts = make_payouts(2)
    device = make_device(finance)
    plan = planned(client, payouts)
    assert confirm(client, plan, fresh_code(device), key="k").status_code == 302
    last = plan.lines.get(position=2)

    def again() -> Any:
        """Send the last line's payment once more, under its own key."""
        return commands.dispatch(
            release_payout,
            actor=executing.actor_for(Plan.objects.get(pk=plan.pk)),
            key=last.key,
            item_id=last.item_id,
            plan_id=plan.pk,
            line_id=last.pk,
            confirmers=[finance.pk],
        )

    first = again()  # before the batch is full
    before = list(Transfer.objects.values_list("key", flat=True))
    assert before == [last.key] and again() == type(first)(**{**vars(first), "replayed": True})
    executing.run_plan(run=OneAttempt(), plan_id=plan.pk)  # type: ignore[arg-type]  # an attempt without its job
    booked = list(Entry.objects.order_by("id").values_list("transfer__key", "amount"))
    assert Transfer.objects.count() == 2 and again().data == first.data
    assert confirm(client, plan, "000000", key="k")["Location"] == f"{BASE}{plan.pk}/run/"
    later = planned(client, payouts)
    assert later.line_count == 0 and text(client.get(f"{BASE}{later.pk}/")).count(
        f"It was paid already, by plan {plan.pk}."
    ) == len(payouts)
    assert confirm(client, later, fresh_code(device)).status_code == 422
    assert list(Entry.objects.order_by("id").values_list("transfer__key", "amount")) == booked


@pytest.mark.case("BM-06", "BM-07")
@pytest.mark.parametrize(
    ("amount", "currency", "minor", "shown"),
    [
        ("5800", "JPY", 5_800, "JPY 5,800"),
        ("9899", "JPY", 9_899, "JPY 9,899"),
        ("58.00", "USD", 5_800, "USD 58.00"),
        ("5.800", "KWD", 5_800, "KWD 5.800"),
    ],
)
def test_a_currency_is_paid_in_its_own_minor_unit(
    amount: str, currency: str, minor: int, shown: str, client: Client, finance: User, provider: Provider
) -> None:
    whole = make_payout("10000" if currency == "JPY" else "100.00", currency)
    plan = run(client, finance, [make_payout(amount, currency)])
    (order,) = provider.orders
    assert (order.amount, order.currency, money.to_minor(order.amount, order.currency)) == (
        Decimal(amount),
        currency,
        minor,
    )
    assert shown in text(client.get(f"{BASE}{plan.pk}/run/"))
    assert ledger.balance(code=Account.Code.CASH, currency=currency) == -Decimal(amount)
    if currency == "JPY" and minor == 5_800:
        assert whole.amount - ledger.balance(code=Account.Code.PAYABLES, currency=currency) == 4_200


@pytest.mark.case("BM-10")
def test_cents_are_exact_from_the_file_through_the_plan_and_ledger_to_the_file(
    client: Client, finance: User, tenant: Tenant, tmp_path: Path
) -> None:
    wanted = ["19.99", "1.15", "4.35", "1.005", "8.41"]
    file = tmp_path / "in.csv"
    rows = "".join(f"T{at},{amount},S{at},Payee {at}\n" for at, amount in enumerate(wanted))
    file.write_text(f"Trans No,Amount,Supplier ID,Supplier Name\n{rows}", encoding="utf-8")
    shell = Actor.system("shell", acting_for="test")
    summary = loading.load_file(actor=shell, path=file, currency="EUR", now=clock.now())
    assert (summary.accepted, summary.dropped[spend.OUT_OF_RANGE]["lines"]) == (4, [5])
    Payout.objects.update(state="approved")
    plan = run(client, finance, list(Payout.objects.order_by("pk")))
    assert [f"{line.amount:.2f}" for line in plan.lines.order_by("position")] == ["19.99", "1.15", "4.35", "8.41"]
    assert plan.totals == [{"currency": "EUR", "count": 4, "total": "33.90"}]
    assert ledger.released(plan_id=plan.pk) == {"EUR": (4, Decimal("33.90"))}


@pytest.mark.case("BM-11")
def test_the_header_the_lines_and_the_ledger_have_one_count_and_one_sum(client: Client, finance: User) -> None:
    plan = run(client, finance, [make_payout(amount) for amount in ("0.01", "100.00", "250.50")])
    assert plan.totals == [{"currency": "EUR", "count": 3, "total": "350.51"}]
    amounts = list(plan.lines.values_list("amount", flat=True))
    assert (len(amounts), sum(amounts)) == (3, Decimal("350.51"))
    assert ledger.released(plan_id=plan.pk) == {"EUR": (3, Decimal("350.51"))}
    for page in (client.get(f"{BASE}{plan.pk}/"), client.get(f"{BASE}{plan.pk}/run/")):
        assert "EUR 350.51" in text(page)
    assert "3 lines in EUR" in text(client.get(f"{BASE}{plan.pk}/"))


@pytest.mark.case("BM-13")
def test_a_dispute_moves_no_money_while_it_is_open_nor_once_it_is_won(
    tenant: Tenant, make_person: Callable[..., User], client_for: Callable[..., Client]
) -> None:
    item = make_dispute(tenant=tenant, amount=Decimal("50.00"))
    staff = client_for(make_person())
    address = f"/t/acme/queues/disputes/{item.pk}/"

    def refunded() -> Decimal:
        assert not Transfer.objects.exists() and not Entry.objects.exists()
        return ledger.balance(code=Account.Code.CASH, currency="EUR")

    assert (refunded(), item.state) == (0, "open")
    assert staff.post(f"{address}claim/", {"key": uuid4().hex}).status_code == 303
    item.refresh_from_db()
    assert (refunded(), item.state) == (0, "open")
    fields = {"key": uuid4().hex, "token": item.claim_token, "reason": "The inquiry was won."}
    assert staff.post(f"{address}act/refuse/", fields).status_code == 303
    assert (refunded(), Dispute.objects.get().state) == (0, "refused")
    assert "refunded" not in text(staff.get(address)).lower()


@pytest.mark.case("BM-15")
@pytest.mark.parametrize("bad", [1, 3, 5])
def test_one_bad_line_of_five_is_named_with_its_reason_and_the_four_others_are_done(
    bad: int, client: Client, finance: User
) -> None:
    payouts = make_payouts(5)
    plan = planned(client, payouts)
    assert confirm(client, plan, fresh_code(make_device(finance))).status_code == 302
    Payout.objects.filter(pk=payouts[bad - 1].pk).update(account="CHANGED")
    executing.run_plan(run=OneAttempt(), plan_id=plan.pk)  # type: ignore[arg-type]  # an attempt without its job
    page = client.get(f"{BASE}{plan.pk}/run/")
    counts = {name: int(n) for name, n in re.findall(r'data-count="(\w+)">(\d+)<', page.content.decode())}
    assert counts == {"done": 4, "refused": 1, "unknown": 0, "not_started": 0, "open": 0} and sum(counts.values()) == 5
    refused = plan.lines.get(state="refused")
    assert (refused.position, refused.reference) == (bad, payouts[bad - 1].reference)
    assert f"{refused.reference} " in text(page) and "The payout is not what was confirmed any more." in text(page)


@pytest.mark.case("BM-17")
def test_the_row_over_the_limit_is_the_one_that_is_blamed(
    client: Client, finance: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ReleasePayouts, "limits", {"EUR": Limit(total=1_000)})
    payouts = [make_payout(amount) for amount in ("400.00", "300.00", "1000.01", "100.00")]
    plan = planned(client, payouts)
    (left_out,) = plan.exclusions.all()
    assert (left_out.item_id, left_out.code) == (payouts[2].pk, "over-limit")
    assert left_out.words == "The plan would pass the limit of EUR 1,000."
    assert [line.item_id for line in plan.lines.order_by("position")] == [payouts[at].pk for at in (0, 1, 3)]
    monkeypatch.setattr(ReleasePayouts, "limits", {"EUR": Limit(total=600)})
    answer = confirm(client, plan, fresh_code(make_device(finance)))
    assert answer.status_code == 422 and not Transfer.objects.exists()
    assert "EUR 800.00 passes the limit of EUR 600, as it is now. Make a new plan." in text(answer)
    assert Payout.objects.filter(plan_id=None).count() == 4


@pytest.mark.case("BM-17")
def test_a_load_of_all_or_nothing_names_the_line_that_broke_and_the_rule_and_keeps_none(
    tenant: Tenant, tmp_path: Path
) -> None:
    file = tmp_path / "rates.csv"
    rows = ["2026-01-01,USD,1.1,ECB", "2026-01-01,GBP,0.87,ECB", "2026-01-01,JPY,-174,ECB", "2026-01-01,CHF,0.9,ECB"]
    file.write_text("\n".join(["date,currency,rate,source", *rows]), encoding="utf-8")
    with pytest.raises(Refusal) as refused:
        rates.load_file(actor=Actor.system("shell", acting_for="test"), path=file, now=clock.now())
    assert "ine 4" in str(refused.value.message) and "a plain number above 0" in str(refused.value.message)
    assert not ReferenceRate.objects.exists()


@pytest.mark.parametrize(
    "fields", [{"all": "0"}, {"all": ""}, {"all": "false"}, {"ids[]": "１"}, {"ids[]": "1 OR 1=1"}]
)
def test_only_a_clear_yes_selects_all_and_no_id_is_left_out_unsaid(fields: dict[str, str], client: Client) -> None:
    kept = make_payout()
    answer = client.post(f"{BASE}new/", {"key": "k", **fields})
    assert answer.status_code in {302, 400} and not Plan.objects.exists()
    if "ids[]" in fields:
        mixed = client.post(f"{BASE}new/", {"key": "k2", "ids[]": [kept.pk, fields["ids[]"]]})
        assert mixed.status_code == 400 and not Plan.objects.exists()


def test_a_stale_tab_and_a_double_submit_pay_once(client: Client, finance: User) -> None:
    payouts, device = make_payouts(3), make_device(finance)
    first, stale = planned(client, payouts), planned(client, payouts)
    code = fresh_code(device)
    answers = [confirm(client, first, code, key="same")["Location"] for _ in range(2)]
    assert answers == [f"{BASE}{first.pk}/run/"] * 2
    executing.run_plan(run=OneAttempt(), plan_id=first.pk)  # type: ignore[arg-type]  # an attempt without its job
    answer = confirm(client, stale, fresh_code(device))
    assert answer.status_code == 409 and Transfer.objects.count() == 3


def test_a_zero_below_zero_is_shown_as_zero() -> None:
    assert money.show(Decimal("-0.00"), "EUR") == money.show(Decimal("-0.001"), "EUR") == "EUR 0.00"
    assert money.show(Decimal("-0.01"), "EUR") == "EUR -0.01"
