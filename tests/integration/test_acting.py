"""A decision happens once, under the queue's claim mode, by who may, and ends the claim."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from django.db import IntegrityError, connection, transaction

from backoffice import commands
from backoffice.audit.models import AuditEvent
from backoffice.commands import Actor
from backoffice.errors import NotPermitted, Refusal
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant, User
from queues import acting, claiming, listing, queues
from queues.models import AccountReview, Dispute, Payout, QueueItem

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)


def make(model: type[QueueItem], tenant: Tenant, **wanted: Any) -> Any:
    fields: dict[type[QueueItem], dict[str, Any]] = {
        Payout: {"beneficiary": "Ada", "account": "A-1", "amount": Decimal("10"), "currency": "GBP"},
        Dispute: {"customer": "Ada", "amount": Decimal("10"), "currency": "GBP", "reason": "fraud"},
        AccountReview: {"holder": "Ada", "country": "GB"},
    }
    return model.objects.create(tenant=tenant, reference=uuid4().hex[:9], opened_at=NOON, **{**fields[model], **wanted})


def held(person: User, item: Any, queue: str) -> int:
    actor = Actor.person(person)
    return claiming.claim(actor=actor, queue=queue, item_id=item.pk, key=uuid4().hex).data["token"]


def act(command: Any, person: User, item: Any, **arguments: Any) -> Any:
    return commands.dispatch(command, actor=Actor.person(person), key=uuid4().hex, item_id=item.pk, **arguments)


def code(command: Any, person: User, item: Any, **arguments: Any) -> str:
    with pytest.raises(Refusal) as refused:
        act(command, person, item, **arguments)
    return refused.value.code


def lapse(item: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {item._meta.db_table} SET lease_until = clock_timestamp() - interval '1 second' WHERE id = %s",
            [item.pk],
        )


@pytest.mark.parametrize(
    ("queue", "model", "command", "state", "arguments"),
    [
        ("payouts", Payout, acting.approve_payout, "approved", {}),
        ("payouts", Payout, acting.hold_payout, "held", {"reason": "Bank asks"}),
        ("payouts", Payout, acting.return_payout, "returned", {"reason": "Wrong payee"}),
        ("disputes", Dispute, acting.resolve_dispute, "resolved", {}),
        ("disputes", Dispute, acting.refuse_dispute, "refused", {"reason": "Delivered"}),
        ("reviews", AccountReview, acting.clear_review, "cleared", {}),
        ("reviews", AccountReview, acting.escalate_review, "escalated", {"reason": "Sanctions"}),
    ],
)
def test_a_decision_under_a_live_claim_moves_the_item_out_of_the_queue(
    tenant: Tenant,
    make_person: Callable[..., User],
    queue: str,
    model: type[QueueItem],
    command: Any,
    state: str,
    arguments: dict[str, Any],
) -> None:
    person = make_person()
    item = make(model, tenant, score=7, score_version=1, scored_at=NOON)
    token = held(person, item, queue)
    outcome = act(command, person, item, token=token, **arguments)
    item.refresh_from_db()
    assert (item.state, item.score, item.version) == (state, 7, 2)
    assert (item.claim_holder, item.lease_until, item.claim_token) == (None, None, token)
    assert listing.page(queue=queues.get(queue), filters={}).items == []
    assert [i.pk for i in listing.page(queue=queues.get(queue), filters={"state": state}).items] == [item.pk]
    event = AuditEvent.objects.get(act=command.name)
    assert (event.target, event.data["result"]["state"]) == (item.target, state)
    assert outcome.data["reason"] == arguments.get("reason", "")
    assert code(command, person, item, token=token, **arguments) == "decided"


@pytest.mark.proves("jobs#state-the-claim-mode")
def test_a_required_claim_is_required(tenant: Tenant, make_person: Callable[..., User]) -> None:
    person, other = make_person(), make_person()
    item = make(Payout, tenant)
    assert code(acting.approve_payout, person, item, version=1) == "not-claimed"
    token = held(other, item, "payouts")
    assert code(acting.approve_payout, person, item, version=1) == "held"
    assert code(acting.approve_payout, person, item, token=token) == "claim-lost"
    assert code(acting.approve_payout, other, item, token=token + 1) == "claim-lost"
    assert code(acting.approve_payout, other, item, version=1) == "claim-lost"
    lapse(item)
    assert code(acting.approve_payout, other, item, token=token) == "claim-lost"
    item.refresh_from_db()
    assert (item.state, item.version) == ("pending", 1)


@pytest.mark.proves("jobs#state-the-claim-mode")
def test_an_optional_claim_lets_a_free_item_be_decided_under_its_version(
    tenant: Tenant, make_person: Callable[..., User]
) -> None:
    person, other = make_person(), make_person(name="Ada Holder")
    item = make(AccountReview, tenant)
    assert code(acting.clear_review, person, item, version=9) == "changed"
    token = held(other, item, "reviews")
    with pytest.raises(Refusal, match="held") as refused:
        act(acting.clear_review, person, item, version=1)
    assert str(refused.value.message).startswith("Ada Holder holds this item until")
    lapse(item)
    assert code(acting.clear_review, other, item, token=token) == "claim-lost"
    assert act(acting.clear_review, person, item, version=1).data["state"] == "cleared"


def test_reasons_are_asked_for_bounded_and_kept_as_they_are(tenant: Tenant, make_person: Callable[..., User]) -> None:
    person = make_person()
    item = make(Payout, tenant)
    token = held(person, item, "payouts")
    assert code(acting.return_payout, person, item, token=token, reason=" \t ") == "reason-missing"
    assert code(acting.return_payout, person, item, token=token, reason="x" * 1001) == "reason-too-long"
    assert code(acting.return_payout, person, item, token=token, reason="nul\x00") == "bad-text"
    hostile = "=cmd|' /C calc'!A0 <script>alert(1)</script> '; DROP TABLE queues_payout; -- %s \u202e مرحبا"
    act(acting.return_payout, person, item, token=token, reason=hostile)
    assert AuditEvent.objects.get(act="payout.return", outcome="done").data["result"]["reason"] == hostile


def test_a_held_payout_can_be_resumed_by_who_saw_it_last(tenant: Tenant, make_person: Callable[..., User]) -> None:
    person = make_person()
    item = make(Payout, tenant)
    act(acting.hold_payout, person, item, token=held(person, item, "payouts"), reason="Bank asks")
    item.refresh_from_db()
    assert [a.name for a in queues.get("payouts").actions_for(item)] == ["resume"]
    assert code(acting.resume_payout, person, item, version=1) == "changed"
    act(acting.resume_payout, person, item, version=2)
    assert [i.pk for i in listing.page(queue=queues.get("payouts"), filters={}).items] == [item.pk]


def test_only_the_queues_people_decide_and_only_in_their_tenant(
    tenant: Tenant, other_tenant: Tenant, make_person: Callable[..., User]
) -> None:
    item = make(AccountReview, tenant)
    for role in ("finance", "analyst", "auditor"):
        with pytest.raises(NotPermitted):
            act(acting.clear_review, make_person(roles=(role,)), item, version=1)
    outsider = make_person(tenant=other_tenant)
    with scope.open(other_tenant):
        assert code(acting.clear_review, outsider, item, version=1) == "gone"
    with pytest.raises(NotPermitted):
        commands.dispatch(
            acting.clear_review,
            actor=Actor.system("scheduler", acting_for="x"),
            key="k",
            item_id=item.pk,
            version=1,
        )


def test_the_money_version_rises_with_the_money_and_with_nothing_else(
    tenant: Tenant, make_person: Callable[..., User]
) -> None:
    person = make_person()
    item = make(Payout, tenant)
    token = held(person, item, "payouts")
    Payout.objects.update(score=5, score_version=1, scored_at=NOON, description="x", opened_at=NOON - timedelta(days=1))

    def version() -> int:
        item.refresh_from_db()
        return item.money_version

    assert version() == 1
    act(acting.approve_payout, person, item, token=token)
    assert version() == 2  # it became payable
    for change in ({"beneficiary": "Bea"}, {"account": "A-2"}, {"amount": 11}, {"currency": "EUR"}, {"state": "held"}):
        before = version()
        Payout.objects.update(**change)
        assert version() == before + 1, change
        Payout.objects.update(**change)
        assert version() == before + 1, change
    Payout.objects.update(money_version=1)
    assert version() == 7  # nobody sets it


@pytest.mark.parametrize(
    "wrong",
    [
        {"state": "unknown"},
        {"amount": -1},
        {"amount": 0},
        {"state": "credit"},
        {"currency": "gbp"},
        {"plan_id": 1},
        {"lease_until": NOON},
        {"score": 1},
    ],
)
def test_the_database_forbids_what_may_not_be(tenant: Tenant, wrong: dict[str, Any]) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        make(Payout, tenant, **wrong)


def test_a_decided_item_cannot_be_held(tenant: Tenant, make_person: Callable[..., User]) -> None:
    item = make(Payout, tenant, state="approved")
    with pytest.raises(IntegrityError), transaction.atomic():
        Payout.objects.filter(pk=item.pk).update(claim_holder=make_person(), claimed_at=NOON, lease_until=NOON)
    with pytest.raises(Refusal, match="decided"):
        held(make_person(), item, "payouts")
