"""Lists that others got wrong: what sorts first, what a page repeats, what a stale page writes, who is offered."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from backoffice.commands import Actor
from backoffice.tenants import scope
from backoffice.tenants.models import Membership, Tenant, User
from queues import overriding
from queues.models import AccountReview, Payout
from tests import factories
from tests.integration.test_claiming import make_payout
from tests.making_items import make_review

LIST = "/t/acme/queues/payouts/"


@pytest.fixture
def staff(make_person: Callable[..., User]) -> User:
    return make_person(name="Ann Archer")


@pytest.fixture
def client(staff: User, client_for: Callable[..., Client]) -> Client:
    return client_for(staff)


@pytest.fixture
def boss(make_person: Callable[..., User]) -> User:
    return make_person(roles=("supervisor",), name="Chi Obi")


def post(client: Client, path: str, **fields: Any) -> Any:
    return client.post(path, {"key": uuid4().hex, **fields})


def text(response: Any) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", response.content.decode())).split())


def walk(client: Client, address: str) -> list[int]:
    """Follow "next" from page to page to the end; return the ids in the order shown."""
    seen: list[int] = []
    while address:
        context = client.get(address).context
        seen += [row.item.pk for row in context["rows"]]
        address = context["next_url"]
    return seen


@pytest.mark.case("SO-01")
def test_what_has_no_score_comes_last_is_counted_apart_and_never_the_best(
    tenant: Tenant, client: Client, boss: User, client_for: Callable[..., Client]
) -> None:
    made = {score: make_payout(tenant, score=score, reference=f"S{score}") for score in (None, 55, 90, 0)}
    wanted = [made[score].pk for score in (90, 55, 0, None)]
    assert walk(client, LIST) == wanted
    assert "not scored yet" in text(client.get(LIST))
    figures = text(client_for(boss).get(f"{LIST}overview/"))
    assert "Not scored yet 1" in figures and "Open 4" in figures
    for pk in wanted:
        assert post(client, f"{LIST}claim-next/")["Location"].startswith(f"{LIST}{pk}/")


@pytest.mark.case("SO-02")
def test_numbers_sort_as_numbers_in_every_list(tenant: Tenant, client: Client) -> None:
    values = [1, 10, 100, 15, 20]
    for value in values:
        make_payout(tenant, score=value, amount=Decimal(value), reference=f"A{value}")
    empty = make_payout(tenant, score=None, amount=Decimal("0.5"), reference="none")
    found = [Payout.objects.get(pk=pk).score for pk in walk(client, LIST)]
    assert found == [100, 20, 15, 10, 1, None] and walk(client, LIST)[-1] == empty.pk
    for sign, wanted in (("", ["0.50", "1.00", "10.00", "15.00", "20.00", "100.00"]), ("-", None)):
        page = client.get(f"/t/acme/admin/queues/payout/?o={sign}2").content.decode()
        amounts = re.findall(r"GBP ([\d.]+)", page)
        assert amounts == (wanted or ["100.00", "20.00", "15.00", "10.00", "1.00", "0.50"])


@pytest.mark.case("RP-11")
def test_2_000_rows_of_20_months_are_2_000_different_rows_page_by_page(tenant: Tenant, client: Client) -> None:
    months = [datetime(2024 + at // 12, at % 12 + 1, 1, tzinfo=UTC) for at in range(20)]
    rows = [
        Payout(
            tenant=tenant,
            reference=f"M{at}",
            beneficiary="Ada",
            account="A",
            amount=Decimal(1),
            currency="GBP",
            opened_at=months[at % 20],
            **({"score": at % 3, "score_version": 1, "scored_at": months[0]} if at % 4 else {}),
        )
        for at in range(2_000)
    ]
    Payout.objects.bulk_create(rows)
    seen = walk(client, LIST)
    assert len(seen) == len(set(seen)) == 2_000 == Payout.objects.count()
    back, address = [], client.get(LIST).context["next_url"]
    while address:
        context = client.get(address).context
        address = context["next_url"]
    address = context["previous_url"]
    while address:
        context = client.get(address).context
        back[:0] = [row.item.pk for row in context["rows"]]
        address = context["previous_url"]
    assert back == seen[: len(back)] and len(back) >= 1_950


@pytest.mark.case("RP-09")
def test_free_held_and_snoozed_tiles_add_up_to_the_open_ones_whatever_is_done_to_an_item(
    tenant: Tenant, staff: User, boss: User, client: Client, client_for: Callable[..., Client]
) -> None:
    made = [make_payout(tenant, score=at, reference=f"T{at}") for at in range(4)]
    now = timezone.now()
    held = {"claim_holder": staff, "claimed_at": now, "lease_until": now + timedelta(minutes=5)}
    Payout.objects.filter(pk=made[0].pk).update(**held)
    Payout.objects.filter(pk=made[1].pk).update(snoozed_until=now + timedelta(hours=1))
    # Held and put to sleep at once, by whatever way: one item, one tile.
    Payout.objects.filter(pk=made[2].pk).update(**held, snoozed_until=now + timedelta(hours=1))
    make_payout(tenant, state="held"), make_payout(tenant, state="approved")
    page = client_for(boss).get(f"{LIST}overview/")
    tiles = dict(
        re.findall(r'figure__name">([^<]+)</span><strong>(\d+)</strong>', page.content.decode().replace("\n", ""))
    )
    assert tiles["Open"] == "4" and {"Free", "Held", "Snoozed"} <= set(tiles)
    assert sum(int(tiles[name]) for name in ("Free", "Held", "Snoozed")) == 4
    assert "4" in text(client.get(LIST)) and len(walk(client, LIST)) == 4


def _rows() -> dict[int, tuple[Any, ...]]:
    columns = ("state", "version", "amount", "beneficiary", "claim_token", "claim_holder_id")
    return {row[0]: row[1:] for row in Payout.objects.values_list("pk", *columns)}


@pytest.mark.case("AU-01")
def test_a_list_whose_order_changed_in_between_writes_the_row_that_was_meant(
    tenant: Tenant, client: Client, boss: User
) -> None:
    first, second = make_payout(tenant, score=90), make_payout(tenant, score=80)
    others = [make_payout(tenant, score=70 - at) for at in range(60)]
    shown = client.get(LIST).context["rows"]
    assert [row.item.pk for row in shown[:2]] == [first.pk, second.pk]
    overriding.set_score(
        actor=Actor.person(boss), queue="payouts", item_id=second.pk, score=0, hours=24, reason="x", key="k"
    )
    assert second.pk not in [row.item.pk for row in client.get(LIST).context["rows"]]
    before = _rows()
    assert post(client, shown[0].claim_url).status_code == 303
    first.refresh_from_db()
    token = first.claim_token
    assert post(client, f"{LIST}{first.pk}/act/approve/", token=token).status_code == 303
    changed = {pk for pk, row in _rows().items() if row != before[pk]}
    assert changed == {first.pk} and len(others) == 60
    # The same page once more, from a tab that is behind: a note, and nothing is written.
    after = _rows()
    stale = post(client, f"{LIST}{first.pk}/act/hold/", token=token, reason="too late")
    assert stale.status_code == 409 and _rows() == after


@pytest.mark.case("AU-01")
def test_a_version_that_is_behind_is_a_conflict_that_keeps_what_was_typed(
    tenant: Tenant, client: Client, make_person: Callable[..., User], client_for: Callable[..., Client]
) -> None:
    item = make_review(tenant=tenant)
    address = f"/t/acme/queues/reviews/{item.pk}/"
    assert client.get(address).status_code == 200
    other = client_for(make_person(name="Ben"))
    assert post(other, f"{address}act/clear/", version=item.version).status_code == 303
    answer = post(client, f"{address}act/escalate/", version=item.version, reason="I saw <this>")
    assert answer.status_code == 409 and "I saw &lt;this&gt;" in answer.content.decode()
    assert AccountReview.objects.get(pk=item.pk).state == "cleared"
    for version in ("", "-1", "１", "1e0", "99999999999999999999", "\u0661"):
        assert post(client, f"{address}act/escalate/", version=version, reason="x").status_code in {400, 409}


@pytest.mark.case("TA-06")
def test_only_the_tenants_own_active_people_are_offered_and_no_other_can_be_posted(
    tenant: Tenant,
    other_tenant: Tenant,
    staff: User,
    client: Client,
    make_person: Callable[..., User],
) -> None:
    item = make_payout(tenant, score=1)
    anna = make_person(name="Anna Able")
    gone = make_person(name="Albert Gone")
    Membership.objects.filter(user=gone).update(active=False)
    make_person(name="Alma Auditor", roles=("auditor",))
    with scope.open(other_tenant):
        theirs = factories.make_person(tenant=other_tenant, name="Agnes Abroad")
    assert post(client, f"{LIST}{item.pk}/claim/").status_code == 303
    item.refresh_from_db()
    page = client.get(f"{LIST}{item.pk}/").content.decode()
    choice = page[page.index('name="to"') :]
    choice = choice[: choice.index("</select>")]
    offered = set(re.findall(r"<option[^>]*>\s*([^<]+?)\s*</option>", choice))
    assert "Anna Able" in offered and not {"Albert Gone", "Agnes Abroad", "Alma Auditor"} & offered
    before = _rows()
    for person in (theirs, gone, make_person(roles=("auditor",))):
        answer = post(client, f"{LIST}{item.pk}/hand-over/", token=item.claim_token, to=person.pk, note="x")
        assert answer.status_code == 409 and "Choose a person who works in this queue." in text(answer)
    for odd in ("0", "-1", "", "１", f"{anna.pk}\x00", "9" * 30):
        assert post(client, f"{LIST}{item.pk}/hand-over/", token=item.claim_token, to=odd, note="x").status_code in {
            400,
            409,
        }
    assert _rows() == before


@pytest.mark.case("TA-06")
def test_a_filters_suggestions_are_the_tenants_own(tenant: Tenant, other_tenant: Tenant, client: Client) -> None:
    make_payout(tenant, currency="GBP")
    with scope.open(other_tenant):
        make_payout(other_tenant, currency="CHF")
    page = client.get(LIST).content.decode()
    suggestions = re.findall(r'<option value="([A-Z]{3})"', page)
    assert "GBP" in suggestions and "CHF" not in suggestions
