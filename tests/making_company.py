"""Make a company with something on every page, as its people would have made it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

from django.test import Client
from django.utils import timezone

from backoffice import clock, commands
from backoffice.commands import Actor
from backoffice.people import inviting
from backoffice.schedules import fanning_out, operating
from backoffice.schedules.models import Occurrence, Schedule
from backoffice.tenants import scope
from backoffice.tenants.models import PLATFORM_ID, Tenant, User
from exports.models import ExportRequest
from queues import claiming
from queues.models import Dispute, Payout
from queues.money import confirming, executing
from queues.money.models import Plan
from reports.models import ReportRequest
from tests import factories
from tests.making_codes import fresh_code, make_device
from tests.making_files import work_off
from tests.making_items import make_dispute, make_payouts, make_review, score
from tests.making_money import make_plan

LONG = "Wolfeschlegelsteinhausenbergerdorff Internationale Handelsgesellschaft mbH & Co. KG aA"


@dataclass(frozen=True)
class Company:
    """Who is there, and the addresses of their pages by a name for the screenshot."""

    person: User
    operator: User
    pages: dict[str, str]
    operator_pages: dict[str, str]
    token: str


def make_company(*, tenant: Tenant, client: Any) -> Company:
    """Fill the tenant, which is open, and the platform."""
    boss = factories.make_person(
        tenant=tenant, roles=("supervisor", "finance", "analyst"), name="Ada Lovelace", email="ada@example.com"
    )
    ben = factories.make_person(tenant=tenant, roles=("staff",), name="Ben Okafor")
    items = make_payouts(tenant=tenant, count=60)
    Payout.objects.filter(pk=items[0].pk).update(beneficiary=LONG)
    make_dispute(tenant=tenant, customer=LONG), make_review(tenant=tenant)
    score("disputes")
    taken = claiming.claim_next(actor=Actor.person(boss), queue="payouts", key="own").data["item_id"]
    claiming.claim(actor=Actor.person(ben), queue="payouts", item_id=items[7].pk, key="other")
    plans = _plans(tenant, boss)
    signed_in: Client = client(boss)
    export, report = _files(tenant, signed_in)
    token = inviting.invite(actor=Actor.person(boss), email="new@example.com", roles=["staff"], key="invite")
    operator, operator_pages = _platform()
    base = f"/t/{tenant.slug}/"
    dispute = Dispute.objects.get()
    pages = {
        "front": "",
        "list": "queues/payouts/",
        "list-filtered": "queues/payouts/?currency=GBP&q=love",
        "list-nothing-found": "queues/payouts/?q=nobody",
        "list-disputes": "queues/disputes/",
        "list-reviews": "queues/reviews/",
        "list-challenges": "queues/score-challenges/",
        "item-held": f"queues/payouts/{taken}/",
        "item-free": f"queues/payouts/{items[0].pk}/",
        "item-of-another": f"queues/payouts/{items[7].pk}/",
        "item-dispute": f"queues/disputes/{dispute.pk}/",
        "overview": "queues/payouts/overview/",
        "rule": "queues/rules/payout.release-risk-score/",
        "plans": "plans/",
        "plan": f"plans/{plans[0].pk}/",
        "run": f"plans/{plans[1].pk}/run/",
        "exports": "exports/",
        "export-new": "exports/new/payouts/",
        "export": f"exports/{export.pk}/",
        "reports": "reports/",
        "report-new": "reports/new/payout-ageing/",
        "report": f"reports/{report.pk}/",
        "jobs": "jobs/",
        "job": f"jobs/{report.job_id}/",
        "notices": "notices/",
        "schedules": "schedules/",
        "people": "people/",
        "devices": "devices/",
        "me": "me/",
        "definitions": "definitions/?q=payout",
        "definitions-all": "definitions/",
        "lookup": "admin/queues/payout/",
        "audit": "admin/audit/auditevent/",
        "error-404": "queues/payouts/999999999/",
        "error-403": "settings/",
    }
    return Company(boss, operator, {name: base + path for name, path in pages.items()}, operator_pages, token)


def _plans(tenant: Tenant, boss: User) -> tuple[Plan, Plan]:
    """Make a plan that waits for its code, with lines left out, and one that ran."""
    device = make_device(boss)
    some = make_payouts(tenant=tenant, count=5, prefix="A", state=Payout.State.APPROVED)
    more = make_payouts(tenant=tenant, count=6, prefix="B", state=Payout.State.APPROVED)
    ran, draft = make_plan(boss, some[:2]), make_plan(boss, [*some[4:], *more])
    code = fresh_code(device)
    confirming.confirm(person=boss, plan_id=ran.pk, digest=ran.digest, code=code, key="confirm")
    executing.run_plan(run=_OneAttempt(), plan_id=ran.pk)  # type: ignore[arg-type]  # an attempt without its job
    return draft, ran


class _OneAttempt:
    """Stand for the job's only attempt."""

    job = SimpleNamespace(attempt=1, max_attempts=1)

    def step(self, name: str) -> Any:
        return _Step()

    def report(self, done: int, total: int) -> None:
        """Nobody watches."""

    def guard(self) -> None:
        """Nothing took its place."""


class _Step:
    def __enter__(self) -> bool:
        return True

    def __exit__(self, *error: object) -> None:
        """Let what is wrong be seen."""


def _files(tenant: Tenant, client: Client) -> tuple[ExportRequest, ReportRequest]:
    form = {"encoding": "utf-8-sig", "key": uuid4().hex}
    assert client.post(f"/t/{tenant.slug}/exports/new/payouts/", form).status_code == 303
    today = timezone.localdate()
    asked = {"as_of": f"{today}", "opened_from": f"{today - timedelta(days=200)}", "opened_to": f"{today}"}
    form = {**asked, "encoding": "utf-8-sig", "key": uuid4().hex}
    assert client.post(f"/t/{tenant.slug}/reports/new/payout-ageing/", form).status_code == 303
    export, report = ExportRequest.objects.get(), ReportRequest.objects.get()
    for request in (export, report):
        if request.job is not None and request.job.state not in ("succeeded", "failed"):
            work_off(request.job)
    return export, report


def _platform() -> tuple[User, dict[str, str]]:
    with scope.open(Tenant.objects.get(pk=PLATFORM_ID)) as platform:
        operator = factories.make_person(tenant=platform, roles=("operator",), name="Olu Operator")
        fanning_out.fan_out(now=clock.now())
        schedule = Schedule.objects.filter(paused_at=None).earliest("pk")
        actor = Actor.person(operator)
        commands.dispatch(operating.run_schedule, actor=actor, key="run", schedule_id=schedule.pk)
        pages = {
            "front": "",
            "jobs": "jobs/",
            "schedules": "schedules/",
            "schedule": f"schedules/{schedule.pk}/",
            "occurrence": f"schedules/occurrences/{Occurrence.objects.earliest('pk').pk}/",
            "settings": "settings/",
            "people": "people/",
        }
    return operator, {f"operator-{name}": f"/t/platform/{path}" for name, path in pages.items()}
