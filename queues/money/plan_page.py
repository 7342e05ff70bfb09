"""What the pages of a plan show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from backoffice import money
from backoffice.errors import Refusal
from backoffice.jobs.models import Job
from backoffice.stepup import spending
from backoffice.tenants.models import User
from queues import masking
from queues.money import confirming, four_eyes, ledger, lines
from queues.money.base import MoneyAction, actions
from queues.money.models import Plan, PlanLine

BADGES = {
    "draft": "badge--warn",
    "expired": "badge--muted",
    "cancelled": "badge--bad",
    "done": "badge--ok",
    "refused": "badge--bad",
    "unknown": "badge--warn",
    "not_started": "badge--muted",
}
WORDS: dict[str, str | Promise] = {
    "draft": gettext_lazy("to confirm"),
    "expired": gettext_lazy("expired"),
    "confirmed": gettext_lazy("waiting for a worker"),
    "running": gettext_lazy("running"),
    "done": gettext_lazy("done"),
    "cancelled": gettext_lazy("cancelled"),
    "planned": gettext_lazy("planned"),
    "sending": gettext_lazy("sending"),
    "refused": gettext_lazy("refused"),
    "unknown": gettext_lazy("unknown"),
    "not_started": gettext_lazy("not started"),
}
COLUMNS = ("done", "refused", "unknown", "not_started", "open")


@dataclass(frozen=True)
class Row:
    """One line as the page writes it."""

    position: int
    reference: str
    payee: str
    account: str
    amount: str
    state: str
    words: str
    badge: str
    outcome: str


@dataclass(frozen=True)
class Total:
    """One currency of a plan."""

    currency: str
    count: int
    text: str
    limit: str
    needs_two: str


@dataclass(frozen=True)
class Progress:
    """One currency of a run: what was planned, what the ledger holds, and each outcome's sum."""

    currency: str
    planned: str
    ledger: str
    agrees: bool
    cells: list[str]


def state_of(plan: Plan, now: datetime) -> dict[str, str]:
    """Return the plan's state for a badge."""
    state = plan.state_at(now)
    words = str(WORDS[state])
    if state == Plan.State.DRAFT and plan.confirmed_by_id is not None:
        words = _("one code given, a second needed")
    return {"state": state, "words": words, "badge": BADGES.get(state, "")}


def preview(*, plan: Plan, person: User, now: datetime) -> dict[str, Any]:
    """Return what the page of a plan shows to this person: every line, every exclusion, what is needed."""
    action = actions.get(plan.action)
    over = {} if plan.state != Plan.State.DRAFT else four_eyes.over_threshold(action=action, plan=plan, person=person)
    return {
        "plan": plan,
        "action": action,
        "title": _("%(action)s: plan %(number)d") % {"action": action.title, "number": plan.pk},
        **state_of(plan, now),
        "rows": rows(plan.lines.order_by("position"), person=person),
        "exclusions": [
            (one.reference, "" if one.amount is None else money.show(one.amount, one.currency), one.words)
            for one in plan.exclusions.order_by("item_id")
        ],
        "totals": [_total(action, row, over) for row in plan.totals],
        "needs_two": plan.four_eyes or bool(over),
        "has_run": plan.job_id is not None,
        **_confirmable(plan, person, action),
    }


def run(*, plan: Plan, now: datetime) -> dict[str, Any]:
    """Return what the live part of a run's page shows."""
    tallies = lines.tallies(plan_id=plan.pk)
    counts: dict[str, int] = dict.fromkeys(COLUMNS, 0)
    for tally in tallies:
        counts[_column(tally.state)] += tally.count
    settled = plan.line_count - counts["open"]
    live = plan.state in (Plan.State.CONFIRMED, Plan.State.RUNNING)
    job = Job.objects.filter(pk=plan.job_id).first() if live else None
    ended = job is not None and job.is_final
    return {
        "plan": plan,
        "title": _("%(action)s: run of plan %(number)d")
        % {"action": actions.get(plan.action).title, "number": plan.pk},
        **state_of(plan, now),
        "live": live and not ended,
        "ended_early": ended,
        "why_ended": job.safe_reason if job is not None and ended else "",
        "stopping": job is not None and job.cancel_requested_at is not None,
        "counts": counts,
        "settled": settled,
        "percent": 100 * settled // max(plan.line_count, 1),
        "progress": _progress(plan, tallies),
    }


def rows(found: Any, *, person: User) -> list[Row]:
    """Write lines for the page, in their order; the account is whole for those who may see it."""
    whole = person.has_perm(masking.WHOLE)
    return [_row(line, whole) for line in found.iterator(chunk_size=2_000)]


def _row(line: PlanLine, whole: bool) -> Row:
    return Row(
        line.position,
        line.reference,
        line.payee,
        line.account if whole else masking.mask(line.account),
        money.show(line.amount, line.currency),
        line.state,
        str(WORDS[line.state]),
        BADGES.get(line.state, ""),
        line.words,
    )


def _total(action: MoneyAction, row: dict[str, Any], over: dict[str, Decimal]) -> Total:
    currency = row["currency"]
    limit = action.limits.get(currency)
    return Total(
        currency=currency,
        count=row["count"],
        text=money.show(Decimal(row["total"]), currency),
        limit=money.show(Decimal(limit.total), currency) if limit else "",
        needs_two=money.show(over[currency], currency) if currency in over else "",
    )


def _confirmable(plan: Plan, person: User, action: MoneyAction) -> dict[str, Any]:
    """Say whether this person can confirm the plan now, and if not, why, in words."""
    may = person.has_perm(action.confirm_permission)
    try:
        confirming.require_confirmable(plan=plan, person=person, digest=plan.digest)
    except Refusal as refusal:
        open_draft = plan.state == Plan.State.DRAFT
        return {"confirmable": False, "why_not": str(refusal.message) if may and open_draft else ""}
    return {"confirmable": may, "why_not": "", "has_device": bool(may and spending.active_devices(person))}


def _column(state: str) -> str:
    return state if state in COLUMNS else "open"


def _progress(plan: Plan, tallies: Sequence[lines.Tally]) -> list[Progress]:
    in_ledger = ledger.released(plan_id=plan.pk)
    found = []
    for row in plan.totals:
        currency = row["currency"]
        sums = dict.fromkeys(COLUMNS, Decimal(0))
        for tally in tallies:
            if tally.currency == currency:
                sums[_column(tally.state)] += tally.total
        posted = in_ledger.get(currency, (0, Decimal(0)))[1]
        found.append(
            Progress(
                currency=currency,
                planned=money.show(Decimal(row["total"]), currency),
                ledger=money.show(posted, currency),
                agrees=posted == sums["done"],
                cells=[money.show(sums[column], currency) for column in COLUMNS],
            )
        )
    return found
