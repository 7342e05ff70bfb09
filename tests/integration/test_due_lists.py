"""Lists of what is due: the filter, the order, the pages, claim-next in it, and what the pages say."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from backoffice import clock
from backoffice.commands import Actor
from backoffice.errors import Refusal
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant, User
from queues import claiming, due_filter, listing, queues
from queues.models import Payout
from tests.integration.test_due_times import answer, at, hold, listed, make_dispute
from tests.making_items import make_payouts


def due_in(tenant: Tenant, *minutes: int | None) -> dict[int | None, Payout]:
    made = make_payouts(tenant=tenant, count=len(minutes))
    for item, ahead in zip(made, minutes, strict=True):
        when = None if ahead is None else clock.now() + timedelta(minutes=ahead)
        Payout.objects.filter(pk=item.pk).update(due_at=when, due_reason="check" if when else "")
    return dict(zip(minutes, made, strict=True))


@pytest.mark.case("SO-09")
def test_what_is_due_within_ten_minutes_or_overdue_is_listed_the_most_urgent_first(
    tenant: Tenant, make_person: Callable[..., User], client_for: Callable[..., Client]
) -> None:
    made = due_in(tenant, 5, 15, -1, None)
    assert listed(queues.get("payouts"), due="10m") == [made[-1], made[5]]
    ann = make_person()
    shown = client_for(ann).get("/t/acme/queues/payouts/?due=10m").content.decode()
    assert shown.index(made[-1].reference) < shown.index(made[5].reference)
    assert made[15].reference not in shown
    assert made[None].reference not in shown
    assert "overdue by 1 minute" in shown
    assert "2 match" in shown
    # Claim-next takes them in that order, and nothing else.
    for ahead in (-1, 5):
        took = claiming.claim_next(actor=Actor.person(ann), queue="payouts", filters={"due": "10m"}, key=f"n{ahead}")
        assert took.data["item_id"] == made[ahead].pk
    with pytest.raises(Refusal) as nothing:
        claiming.claim_next(actor=Actor.person(ann), queue="payouts", filters={"due": "10m"}, key="n")
    assert nothing.value.code == "nothing-free"


def test_each_choice_of_the_filter_holds_what_it_says(tenant: Tenant) -> None:
    made = due_in(tenant, -60 * 30, 0, 9, 59, 60 * 48, None)
    queue = queues.get("payouts")
    assert listed(queue, due="overdue") == [made[-1800], made[0]]
    assert listed(queue, due="1h") == [made[-1800], made[0], made[9], made[59]]
    assert made[60 * 48] not in listed(queue, due="today")
    assert listed(queue, due="none") == [made[None]]
    assert len(listed(queue, due="'; DROP TABLE--")) == 6
    assert listed(queue, sort="due") == [made[-1800], made[0], made[9], made[59], made[60 * 48], made[None]]


def test_today_ends_with_the_day_of_the_tenant_s_zone(other_tenant: Tenant) -> None:
    Tenant.objects.filter(pk=other_tenant.pk).update(time_zone="Asia/Kathmandu")
    other_tenant.refresh_from_db()
    with scope.open(other_tenant):
        found = due_filter.condition(queues.get("payouts"), "today", now=at(18, 0))
        # A quarter to midnight there; and a quarter past, where the next day has begun.
        assert found.children[-1] == ("due_at__lte", at(18, 15) - timedelta(microseconds=1))
        found = due_filter.condition(queues.get("payouts"), "today", now=at(18, 30))
        assert found.children[-1] == ("due_at__lte", at(18, 15) + timedelta(days=1) - timedelta(microseconds=1))


@pytest.mark.parametrize("filters", [{"sort": "due"}, {"due": "1h"}])
def test_pages_by_due_time_hold_each_item_once_forth_and_back(tenant: Tenant, filters: dict[str, str]) -> None:
    moment = clock.now() - timedelta(hours=1)
    items = make_payouts(tenant=tenant, count=23)
    for number, item in enumerate(items):
        # Ties, and some without a due time.
        when = None if number % 5 == 4 else moment - timedelta(minutes=number // 4)
        Payout.objects.filter(pk=item.pk).update(due_at=when)
    whole = listed(queues.get("payouts"), **filters)
    assert len(whole) == (23 if "sort" in filters else 19)
    assert [one.due_at for one in whole if one.due_at] == sorted(one.due_at for one in whole if one.due_at)
    forth, keys, after = [], [], ""
    while True:
        page = listing.page(queue=queues.get("payouts"), filters=filters, after=after, size=4)
        forth += page.items
        keys.append(page.before)
        if not page.after:
            break
        after = page.after
    assert forth == whole
    back: list[Any] = []
    before = keys[-1]
    while before:
        page = listing.page(queue=queues.get("payouts"), filters=filters, before=before, size=4)
        back = [*page.items, *back]
        before = page.before
    assert back == whole[: len(back)]
    assert len(back) >= len(whole) - 4


def test_a_key_of_the_other_order_opens_the_first_page(tenant: Tenant) -> None:
    due_in(tenant, *range(1, 9))
    queue = queues.get("payouts")
    by_score = listing.page(queue=queue, filters={}, size=2).after
    by_due = listing.page(queue=queue, filters={"sort": "due"}, size=2)
    assert listing.page(queue=queue, filters={"sort": "due"}, after=by_score, size=2).items == by_due.items
    assert listing.page(queue=queue, filters={}, after=by_due.after, size=2).items == listed(queue)[:2]


def test_claim_next_by_due_time_takes_lapsed_and_woken_items_in_their_place(
    tenant: Tenant, make_person: Callable[..., User], superuser: Any
) -> None:
    made = due_in(tenant, 30, 20, 10, None)
    ann, ben = make_person(), make_person()
    hold(ben, made[10], "payouts")
    superuser.execute("UPDATE queues_payout SET lease_until = now() - interval '1 minute' WHERE id = %s", [made[10].pk])
    Payout.objects.filter(pk=made[20].pk).update(snoozed_until=clock.now() - timedelta(minutes=1))
    for ahead in (10, 20, 30, None):
        took = claiming.claim_next(actor=Actor.person(ann), queue="payouts", filters={"sort": "due"}, key=f"n{ahead}")
        assert took.data["item_id"] == made[ahead].pk


def test_a_saved_view_keeps_the_filter_and_the_order(
    tenant: Tenant, make_person: Callable[..., User], client_for: Callable[..., Client]
) -> None:
    made = due_in(tenant, 5, 15, -1, None)
    client = client_for(make_person())
    saved = client.post(
        "/t/acme/queues/payouts/views/?due=10m&sort=due",
        {"key": uuid4().hex, "name": "Hurry", "due": "10m", "sort": "due"},
    )
    assert saved.status_code == 303
    shown = client.get("/t/acme/queues/payouts/").content.decode()
    assert "due=10m" in shown
    assert made[-1].reference in client.get(saved.headers["Location"]).content.decode()


# ------------------------------------------------------------------ pages


def test_the_list_says_when_each_item_is_due_in_words_and_exactly(
    tenant: Tenant, make_person: Callable[..., User], client_for: Callable[..., Client]
) -> None:
    due_in(tenant, -130, 35, 60 * 24 * 5, None)
    shown = client_for(make_person()).get("/t/acme/queues/payouts/").content.decode()
    assert "overdue by 2 hours" in shown
    assert 'class="due due--overdue badge badge--bad"' in shown
    assert "in 34 minutes" in shown
    assert 'class="due due--soon badge badge--warn"' in shown
    assert "in 4 days" in shown
    assert 'class="due due--fine"' in shown
    assert "no due time" in shown
    assert shown.count('<div class="why">check</div>') == 3


def test_the_item_s_page_says_why_it_is_due_then_and_what_stops_the_clock(
    tenant: Tenant, make_person: Callable[..., User], client_for: Callable[..., Client]
) -> None:
    ann = make_person()
    client, item = client_for(ann), make_dispute(tenant, opened_at=at(10))
    path = f"/t/acme/queues/disputes/{item.pk}/"
    shown = client.get(path).content.decode()
    assert "30 Nov 2026, 14:00" in shown
    assert "First response: within 4 working hours of 30 Nov 2026, 10:00." in shown
    assert "It stops with the first answer to the customer." in shown
    answer(ann, item, waits=True)
    shown = client.get(path).content.decode()
    assert "No due time while it waits for the customer." in shown
    assert "Undo what you noted" in shown
    assert "no due time" in shown


def test_acting_on_the_page_notes_the_answer_and_offers_to_undo_it(
    tenant: Tenant, make_person: Callable[..., User], client_for: Callable[..., Client]
) -> None:
    ann = make_person()
    client, item = client_for(ann), make_dispute(tenant)
    path = f"/t/acme/queues/disputes/{item.pk}/"
    token = hold(ann, item)
    item.refresh_from_db()
    form = {"key": uuid4().hex, "token": token, "version": item.version}
    assert client.post(f"{path}act/answer/", form).headers["Location"].endswith(path)
    shown = client.get(path).content.decode()
    assert f"{item.reference}: Answered, we go on" in shown
    assert f'action="{path}undo/"' in shown
    client.post(f"{path}undo/", {"key": uuid4().hex})
    item.refresh_from_db()
    assert (item.answered_at, item.due_reason, item.claim_holder) == (None, "first response", ann)


def test_the_overview_counts_what_is_overdue_and_what_is_due_within_an_hour(
    tenant: Tenant, make_person: Callable[..., User], client_for: Callable[..., Client]
) -> None:
    due_in(tenant, -1, -200, 30, 90, None)
    boss = make_person(roles=("supervisor",))
    shown = client_for(boss).get("/t/acme/queues/payouts/overview/").content.decode()
    assert 'href="/t/acme/queues/payouts/?due=overdue">2<' in shown
    assert 'href="/t/acme/queues/payouts/?due=1h">1<' in shown
