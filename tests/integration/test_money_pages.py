"""The pages of bulk money show every line before acting, ask for the code, and tell what became of each line."""

from __future__ import annotations

import html
import re
import time
from collections.abc import Callable
from decimal import Decimal

import pytest
from django.test import Client

from backoffice.jobs.models import Job
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant, User
from queues.definitions.release_payouts import ReleasePayouts
from queues.models import Payout
from queues.money import Limit, executing
from queues.money.models import Plan
from tests.integration.test_executing import OneAttempt
from tests.making_codes import fresh_code, make_device, wrong_code
from tests.making_money import make_payout, make_payouts, make_plan

PREVIEW = "jobs#show-a-preview-before-bulk-money-actions"


@pytest.fixture
def finance(make_person: Callable[..., User]) -> User:
    return make_person(roles=("finance",))


@pytest.fixture
def client(finance: User, tenant: Tenant, client_for: Callable[..., Client]) -> Client:
    return client_for(finance, tenant)


@pytest.fixture
def base(tenant: Tenant) -> str:
    return f"/t/{tenant.slug}/plans/"


def _text(page: bytes) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page.decode())).split())


def _key(page: bytes) -> str:
    found = re.search(r'name="key" value="([0-9a-f]{32})"', page.decode())
    assert found
    return found[1]


def _confirm(client: Client, base: str, plan: Plan, code: str, *, key: str = "") -> object:
    return client.post(f"{base}{plan.pk}/confirm/", {"key": key or f"k-{code}", "code": code, "digest": plan.digest})


@pytest.mark.proves(PREVIEW)
def test_a_selection_of_the_list_becomes_a_page_with_every_line_and_total(client: Client, base: str) -> None:
    payouts = [make_payout("1900.00"), make_payout("9899", "JPY", beneficiary="<b>株式会社</b> & Söhne")]
    left_out = make_payout(state="pending")
    posted = client.post(f"{base}new/", {"key": "k", "ids[]": [p.pk for p in [*payouts, left_out]]})
    plan = Plan.objects.get()
    assert (posted.status_code, posted["Location"]) == (302, f"{base}{plan.pk}/")
    answer = client.get(posted["Location"])
    text = _text(answer.content)
    for words in (
        *(p.reference for p in payouts),
        "EUR 1,900.00",
        "JPY 9,899",
        "<b>株式会社</b> & Söhne",
        left_out.reference,
        "It is not approved (Pending).",
        plan.short_digest,
        "1 line in EUR",
    ):
        assert words in text, words
    assert b"<b>" not in answer.content
    assert "no-store" in answer["Cache-Control"]
    again = client.post(f"{base}new/", {"key": "k", "ids[]": [p.pk for p in [*payouts, left_out]]})
    assert again["Location"] == posted["Location"] and Plan.objects.count() == 1


def test_all_that_match_comes_from_the_filters_not_from_the_browser(client: Client, base: str) -> None:
    payouts = make_payouts(3)
    make_payout(currency="GBP")
    client.post(f"{base}new/", {"key": "k", "all": "1", "state": "approved", "currency": "EUR"})
    assert [line.item_id for line in Plan.objects.get().lines.all()] == [payout.pk for payout in payouts]


def test_a_refused_selection_goes_back_to_the_list_and_says_why(client: Client, base: str) -> None:
    posted = client.post(f"{base}new/", {"key": "k", "state": "approved"}, follow=True)
    assert posted.redirect_chain[-1][0].endswith("/queues/payouts/?state=approved")
    assert "Nothing is selected." in _text(posted.content)


@pytest.mark.proves("jobs#confirm-bulk-money-actions-out-of-band")
def test_the_code_is_asked_for_beside_the_totals_and_a_wrong_one_is_told(
    client: Client, base: str, finance: User
) -> None:
    device, plan = make_device(finance), make_plan(finance, make_payouts(2))
    page = client.get(f"{base}{plan.pk}/").content
    field = re.search(rb'<input id="code"[^>]*>', page)
    assert field and b'autocomplete="one-time-code"' in field[0] and b'inputmode="numeric"' in field[0]
    section = page[page.index(b'id="confirm"') :]
    assert b"EUR 200.00" in section[: section.index(b"</section>")]
    wrong = _confirm(client, base, plan, wrong_code(device), key=_key(page))
    assert wrong.status_code == 422  # type: ignore[attr-defined]  # the test client's response
    text = _text(wrong.content)  # type: ignore[attr-defined]  # the same
    assert "The code is wrong. 4 tries are left." in text and "No money was moved." in text
    done = _confirm(client, base, plan, fresh_code(device), key=_key(wrong.content))  # type: ignore[attr-defined]  # the same
    assert done["Location"] == f"{base}{plan.pk}/run/"  # type: ignore[index]  # the same


def test_a_change_after_the_preview_is_shown_from_and_to(client: Client, base: str, finance: User) -> None:
    payouts = make_payouts(2)
    device, plan = make_device(finance), make_plan(finance, payouts)
    Payout.objects.filter(pk=payouts[1].pk).update(amount=Decimal("900.00"))
    answer = client.post(f"{base}{plan.pk}/confirm/", {"key": "k", "code": fresh_code(device), "digest": plan.digest})
    assert answer.status_code == 409
    shown = answer.content[answer.content.index(b"data-differences") :]
    text = _text(shown[: shown.index(b"</table>")])
    assert f"2 {payouts[1].reference} amount EUR 100.00 EUR 900.00" in text
    assert not Job.objects.exists()


def test_the_page_says_when_two_people_are_needed(
    client: Client, base: str, finance: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ReleasePayouts, "limits", {"EUR": Limit(total=10_000, four_eyes_above=150)})
    device, plan = make_device(finance), make_plan(finance, make_payouts(2))
    assert "Two people confirm this plan." in _text(client.get(f"{base}{plan.pk}/").content)
    answer = client.post(
        f"{base}{plan.pk}/confirm/", {"key": "k", "code": fresh_code(device), "digest": plan.digest}, follow=True
    )
    text = _text(answer.content)
    assert "one code given, a second needed" in text
    assert "You gave the first code; another person has to give the second." in text
    assert b'id="code"' not in answer.content


def test_a_person_without_a_device_is_sent_to_enrol_one(client: Client, base: str, finance: User) -> None:
    plan = make_plan(finance, make_payouts(1))
    answer = client.get(f"{base}{plan.pk}/")
    assert "You have no device for codes yet." in _text(answer.content) and b'id="code"' not in answer.content


def test_the_run_page_counts_outcomes_side_by_side_and_equals_the_ledger(
    client: Client, base: str, finance: User
) -> None:
    payouts = make_payouts(4)
    device, plan = make_device(finance), make_plan(finance, payouts)
    _confirm(client, base, plan, fresh_code(device))
    address = f"{base}{plan.pk}/run/"
    waiting = client.get(address)
    assert b'hx-get="' in waiting.content and "0 of 4 lines" in _text(waiting.content)
    Payout.objects.filter(pk=payouts[1].pk).update(account="DE00 CHANGED")
    executing.run_plan(run=OneAttempt(), plan_id=plan.pk)  # type: ignore[arg-type]  # an attempt without its job
    part = client.get(address, headers={"HX-Request": "true"})
    assert part["HX-Refresh"] == "true" and b"<html" not in part.content
    page = client.get(address)
    counts = dict(re.findall(r'data-count="(\w+)">(\d+)<', page.content.decode()))
    assert counts == {"done": "3", "refused": "1", "unknown": "0", "not_started": "0", "open": "0"}
    text = _text(page.content)
    assert "4 of 4 lines have their outcome." in text
    assert "EUR EUR 400.00 EUR 300.00 EUR 100.00 EUR 0.00 EUR 0.00 EUR 0.00 EUR 300.00" in text
    assert "The payout is not what was confirmed any more." in text and b"hx-get" not in page.content


def test_a_run_that_waits_can_be_stopped_from_its_page(client: Client, base: str, finance: User) -> None:
    device, plan = make_device(finance), make_plan(finance, make_payouts(2))
    _confirm(client, base, plan, fresh_code(device))
    answer = client.post(f"{base}{plan.pk}/halt/", {"key": "k"}, follow=True)
    text = _text(answer.content)
    assert "What was not released is free again." in text and "not started" in text
    assert not Payout.objects.exclude(plan_id=None).exists()


def test_the_pages_are_for_those_who_may_and_for_their_tenant(
    base: str,
    finance: User,
    tenant: Tenant,
    other_tenant: Tenant,
    make_person: Callable[..., User],
    client_for: Callable[..., Client],
) -> None:
    plan = make_plan(finance, make_payouts(1))
    stranger = client_for(make_person(roles=("finance",), tenant=other_tenant), other_tenant)
    own = base.replace(tenant.slug, other_tenant.slug)
    for method, address in (
        ("get", ""),
        ("get", "run/"),
        ("post", "confirm/"),
        ("post", "cancel/"),
        ("post", "halt/"),
    ):
        assert getattr(stranger, method)(f"{base}{plan.pk}/{address}").status_code == 404, address
        assert getattr(stranger, method)(f"{own}{plan.pk}/{address}").status_code == 404, address
    assert stranger.get(own).status_code == 200
    with scope.open(other_tenant):
        assert not Plan.objects.exists()
    auditor = client_for(make_person(roles=("auditor",)), tenant)
    assert auditor.get(f"{base}{plan.pk}/").status_code == 200
    for address in ("confirm/", "cancel/", "halt/"):
        assert auditor.post(f"{base}{plan.pk}/{address}").status_code == 403
    assert auditor.post(f"{base}new/").status_code == 403
    staff = client_for(make_person(roles=("staff",)), tenant)
    assert staff.get(base).status_code == 403
    for address in ("confirm/", "cancel/", "halt/"):
        assert staff.get(f"{base}{plan.pk}/{address}").status_code in (403, 405)
    plan.refresh_from_db()
    assert plan.state == "draft"


def test_five_thousand_lines_are_shown_in_little_time(client: Client, base: str, finance: User) -> None:
    plan = make_plan(finance, make_payouts(5_000))
    client.get(base)
    started = time.process_time()
    answer = client.get(f"{base}{plan.pk}/")
    seconds = time.process_time() - started
    print(f"5,000 lines: {seconds:.2f} s of processor, {len(answer.content) / 1024:.0f} KiB")
    assert answer.content.count(b'<tr><td class="money">') == 5_000
    assert seconds < 3
