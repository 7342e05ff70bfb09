"""The front page: what waits for this person in the open tenant, as far as their roles reach."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q
from django.urls import reverse

from backoffice import clock
from backoffice.pages import new_key
from backoffice.tenants.models import User
from exports.models import ExportRequest
from queues import handing, listing, scoring, showing
from queues.base import ClaimMode, Queue, queues
from queues.models import QueueItem
from queues.models.item import open_items
from queues.money.models import Plan

MINE = 20
LATEST = 5


@dataclass(frozen=True)
class QueueCard:
    """One queue's figures, each counted up to the list's cap."""

    title: str
    name: str
    url: str
    waiting: listing.Count
    held: listing.Count | None
    oldest: datetime | None
    works: bool
    key: str


@dataclass(frozen=True)
class Held:
    """An item that the person holds."""

    item: QueueItem
    queue: Queue
    url: str
    headline: str
    sentence: str
    handed: tuple[str, str]  # who gave it and with which words; ("", "") where the person took it


def context(*, person: User) -> dict[str, Any]:
    """Return what the front page shows; no query runs for what the person may not see."""
    seen = [queue for queue in queues if person.has_perm(queue.view)]
    return {
        "cards": [_card(queue, person) for queue in seen],
        "mine": [held for queue in seen if person.has_perm(queue.work) for held in _held(queue, person)],
        "works_anywhere": any(person.has_perm(queue.work) for queue in seen),
        **_plans(person),
        **_exports(person),
    }


def _card(queue: Queue, person: User) -> QueueCard:
    claims = queue.claims.mode is not ClaimMode.DISABLED
    rows = queue.model.objects.filter(open_items(queue.model))
    return QueueCard(
        title=str(queue.title),
        name=queue.name,
        url=reverse("queue", args=[queue.name]),
        waiting=listing.count(queue=queue, filters={}),
        held=listing.count(queue=queue, filters={"claim": "held"}, person=person) if claims else None,
        oldest=rows.order_by("opened_at").values_list("opened_at", flat=True).first(),
        works=person.has_perm(queue.work) and claims,
        key=new_key(),
    )


def _held(queue: Queue, person: User) -> list[Held]:
    mine = list(listing.matching(queue=queue, filters={"claim": "mine"}, person=person).order_by("lease_until")[:MINE])
    handed = handing.handed_to(mine)
    return [
        Held(
            item=item,
            queue=queue,
            url=reverse("item", args=[queue.name, item.pk]),
            headline=showing.headline(item),
            sentence=scoring.explain(item).sentence if item.score is not None else "",
            handed=handed.get(item.target, ("", "")),
        )
        for item in mine
    ]


def _plans(person: User) -> dict[str, Any]:
    if not person.has_perm("money.view_plan"):
        return {}
    open_plans = Plan.objects.filter(
        Q(state="draft", expires_at__gt=clock.now()) | Q(state__in=["confirmed", "running"])
    )
    return {
        "may_confirm": person.has_perm("money.confirm_release"),
        "plans": list(open_plans.select_related("requested_by")[:LATEST]),
        "shows_plans": True,
    }


def _exports(person: User) -> dict[str, Any]:
    if not person.has_perm("exports.request"):
        return {}
    latest = ExportRequest.objects.select_related("job").filter(requested_by=person).order_by("-id")[:LATEST]
    return {"shows_exports": True, "exports": list(latest)}
