"""A decision can be taken back for a while, a decided item reopened; history keeps everything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection

from backoffice.audit.models import AuditEvent
from backoffice.commands import Actor
from backoffice.errors import NotPermitted, Refusal
from backoffice.tenants.models import Tenant, User
from queues import acting, listing, queues, undoing
from queues.models import AccountReview, Payout
from tests.integration.test_claiming import claim, claim_next, make_payout
from tests.making_items import make_review


def decide(person: User, item: Any, action: str = "approve", queue: str = "payouts", **under: Any) -> None:
    acting.act(
        actor=Actor.person(person),
        action=queues.get(queue).action(action),
        item_id=item.pk,
        reason="because",
        key=uuid4().hex,
        **{"token": None, "version": None, **under},
    )


def approved(person: User, item: Any) -> None:
    decide(person, item, token=claim(person, item)["token"])


def undo(person: User, item: Any, queue: str = "payouts") -> dict[str, Any]:
    return undoing.undo(actor=Actor.person(person), queue=queue, item_id=item.pk, key=uuid4().hex).data


def reopen(person: User, item: Any, *, reason: str = "wrong account", version: int | None = None) -> None:
    item.refresh_from_db()
    undoing.reopen(
        actor=Actor.person(person),
        queue="payouts",
        item_id=item.pk,
        version=item.version if version is None else version,
        reason=reason,
        key=uuid4().hex,
    )


def refused(act: Callable[[], Any]) -> str:
    with pytest.raises(Refusal) as refusal:
        act()
    return refusal.value.code


def age_the_history(minutes: int, superuser: Any) -> None:
    superuser.execute("ALTER TABLE audit_auditevent DISABLE TRIGGER USER")
    superuser.execute("UPDATE audit_auditevent SET at = at - %s * interval '1 minute'", [minutes])
    superuser.execute("ALTER TABLE audit_auditevent ENABLE TRIGGER USER")


def test_undo_restores_the_state_and_the_hold(tenant: Tenant, make_person: Callable[..., User]) -> None:
    item = make_payout(tenant, score=5)
    ann = make_person()
    approved(ann, item)
    assert undo(ann, item) == {"state": "pending", "undid": "payout.approve", "held": True}
    item.refresh_from_db()
    assert (item.state, item.claim_holder, item.claim_token) == ("pending", ann, 2)
    assert list(AuditEvent.objects.filter(target=item.target).order_by("id").values_list("act", flat=True)) == [
        "item.claim",
        "payout.approve",
        "item.undo",
    ]
    assert refused(lambda: undo(ann, item)) == "not-undoable"
    decide(ann, item, "return", token=item.claim_token)
    assert undo(ann, item)["undid"] == "payout.return"


def test_undo_is_for_ones_own_last_decision_within_its_window(
    tenant: Tenant, make_person: Callable[..., User], superuser: Any
) -> None:
    ann, ben = make_person(), make_person()
    item, late = make_payout(tenant), make_payout(tenant)
    approved(ann, item)
    assert refused(lambda: undo(ben, item)) == "not-undoable"
    assert undo(ann, item)["state"] == "pending"
    approved(ann, late)
    age_the_history(2, superuser)
    assert refused(lambda: undo(ann, late)) == "not-undoable"
    assert Payout.objects.get(pk=late.pk).state == "approved"


def test_undo_stops_where_something_outside_has_happened(tenant: Tenant, make_person: Callable[..., User]) -> None:
    ann = make_person()
    planned, paid = make_payout(tenant), make_payout(tenant)
    approved(ann, planned)
    approved(ann, paid)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE queues_payout SET plan_id = 7 WHERE id = %s", [planned.pk])
        cursor.execute("UPDATE queues_payout SET state = 'paid' WHERE id = %s", [paid.pk])
    for item in (planned, paid):
        assert refused(lambda item=item: undo(ann, item)) == "not-undoable"
        assert refused(lambda item=item: reopen(ann, item)) == "took-effect"
    assert Payout.objects.get(pk=planned.pk).state == "approved"


def test_undo_at_the_cap_restores_the_state_without_a_hold(tenant: Tenant, make_person: Callable[..., User]) -> None:
    ann = make_person()
    item = make_payout(tenant)
    approved(ann, item)
    for _ in range(5):
        claim(ann, make_payout(tenant))
    assert undo(ann, item) == {"state": "pending", "undid": "payout.approve", "held": False}
    assert Payout.objects.get(pk=item.pk).claim_holder is None


def test_undo_takes_back_a_resume_and_a_free_decision_too(tenant: Tenant, make_person: Callable[..., User]) -> None:
    ann = make_person()
    item, review = make_payout(tenant), make_review(tenant=tenant)
    decide(ann, item, "hold", token=claim(ann, item)["token"])
    item.refresh_from_db()
    decide(ann, item, "resume", version=item.version)
    assert undo(ann, item) == {"state": "held", "undid": "payout.resume", "held": False}
    decide(ann, review, "clear", "reviews", version=review.version)
    assert undo(ann, review, "reviews")["held"] is True
    assert AccountReview.objects.get(pk=review.pk).state == "open"


@pytest.mark.case("QC-16")
def test_a_reopened_case_is_to_review_again_and_its_history_stays(
    tenant: Tenant, make_person: Callable[..., User]
) -> None:
    item = make_payout(tenant, score=9)
    ann, ben = make_person(), make_person()
    approved(ann, item)
    assert refused(lambda: reopen(ben, item, reason="")) == "reason-missing"
    assert refused(lambda: reopen(ben, item, version=1)) == "changed"
    reopen(ben, item)
    waiting = listing.page(queue=queues.get("payouts"), filters={}, person=ben).items
    assert [one.pk for one in waiting] == [item.pk]
    assert AuditEvent.objects.filter(target=item.target, act="payout.approve", outcome="done").count() == 1
    assert refused(lambda: undo(ann, item)) == "not-undoable"
    assert refused(lambda: reopen(ben, item)) == "open"
    assert claim_next(ben)["item_id"] == item.pk
    with pytest.raises(NotPermitted):
        reopen(make_person(roles=("auditor",)), item)


@pytest.mark.case("QC-10")
def test_a_decided_item_is_in_no_list_that_is_served_later(tenant: Tenant, make_person: Callable[..., User]) -> None:
    item, other = make_payout(tenant, score=9), make_payout(tenant, score=8)
    ann, ben = make_person(), make_person()
    approved(ann, item)
    for person in (ann, ben):
        assert [one.pk for one in listing.page(queue=queues.get("payouts"), filters={}, person=person).items] == [
            other.pk
        ]
