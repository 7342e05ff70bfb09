"""The pages of bulk money: make a plan, look at every line, confirm it with a code, watch it run."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from backoffice import commands
from backoffice.errors import Refusal, UnknownDefinition
from backoffice.pages import Page
from queues import claiming, list_page
from queues.base import queue_for
from queues.money import confirming, plan_page, settling
from queues.money.base import actions
from queues.money.confirming import PlanChanged
from queues.money.models import Plan
from queues.money.planning import create_plan

PLANS = 50


class PlanPage(Page):
    """Serve a page of one plan; another tenant's is not there."""

    permission = "money.view_plan"

    def found(self, plan_id: int) -> Plan:
        """Return the plan of the open tenant, or answer 404."""
        people = ("requested_by", "confirmed_by", "approved_by")
        plan = Plan.objects.select_related(*people).filter(pk=plan_id).first()
        if plan is None:
            raise Http404
        return plan

    def preview(self, plan_id: int, *, status: int = 200, **more: Any) -> HttpResponse:
        """Render the plan's page, with what a refused POST adds to it."""
        plan = self.found(plan_id)
        context = plan_page.preview(plan=plan, person=self.person, now=claiming.database_now())
        return self.page({**context, **more}, template="money/plan.html", status=status)


class Plans(Page):
    """List the latest plans."""

    permission = "money.view_plan"
    title = gettext_lazy("Payout releases")
    template_name = "money/plans.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        now = claiming.database_now()
        rows = Plan.objects.select_related("requested_by", "confirmed_by", "approved_by").order_by("-id")
        before = request.GET.get("before", "")
        if before.isascii() and before.isdigit() and len(before) <= 18:
            rows = rows.filter(pk__lt=int(before))
        found = list(rows[: PLANS + 1])
        return self.page(
            {
                "plans": [(plan, plan_page.state_of(plan, now)) for plan in found[:PLANS]],
                "older": found[PLANS - 1].pk if len(found) > PLANS else None,
            }
        )


class CreatePlan(Page):
    """Freeze the selection of a queue's list into a plan and show it."""

    permission = "money.plan_release"
    http_method_names = ["post", "options"]

    def post(self, request: HttpRequest) -> HttpResponse:
        try:
            action = actions.get(request.POST.get("action", "payout.release"))
        except UnknownDefinition:
            raise Http404 from None
        queue = queue_for(action.model)
        filters = list_page.filters_of(queue=queue, query=request.POST)
        chosen: dict[str, Any] = {"filters": filters} if request.POST.get("all") == "1" else {"item_ids": self._ids()}
        try:
            outcome = commands.dispatch(
                create_plan, actor=self.actor, key=request.POST.get("key", ""), action=action.name, **chosen
            )
        except Refusal as refusal:
            messages.error(request, str(refusal.message))
            return redirect(reverse("queue", args=[queue.name]) + list_page.suffix(queue=queue, query=request.POST))
        return redirect("plan", outcome.data["plan_id"])

    def _ids(self) -> list[int]:
        texts = self.request.POST.getlist("ids[]")
        if not all(text.isascii() and text.isdigit() and len(text) <= 18 for text in texts):
            raise BadRequest("ids are numbers")  # leaving one out unsaid would make another plan than was asked for
        return [int(text) for text in texts]


@method_decorator(never_cache, name="dispatch")
class ShowPlan(PlanPage):
    """Show every line, every exclusion, the totals, and the field for the code."""

    def get(self, request: HttpRequest, plan: int) -> HttpResponse:
        return self.preview(plan)


@method_decorator([never_cache, sensitive_post_parameters("code")], name="dispatch")
class ConfirmPlan(PlanPage):
    """Take a code; a refusal shows the plan again, with what changed where something did."""

    permission = "money.confirm_release"
    http_method_names = ["post", "options"]

    def post(self, request: HttpRequest, plan: int) -> HttpResponse:
        self.found(plan)
        try:
            confirmed = confirming.confirm(
                person=self.person,
                plan_id=plan,
                digest=request.POST.get("digest", ""),
                code=request.POST.get("code", ""),
                key=request.POST.get("key", ""),
            )
        except PlanChanged as changed:
            return self.preview(plan, status=409, refusal=changed, differences=changed.differences)
        except Refusal as refusal:
            return self.preview(plan, status=422, refusal=refusal)
        if confirmed.waiting:
            messages.success(request, _("Your code is counted. Another person has to give the second one."))
            return redirect("plan", plan)
        return redirect("plan-run", plan)


class CancelPlan(PlanPage):
    """Drop a draft."""

    permission = "money.plan_release"
    http_method_names = ["post", "options"]

    def post(self, request: HttpRequest, plan: int) -> HttpResponse:
        self.found(plan)
        try:
            commands.dispatch(settling.cancel_plan, actor=self.actor, key=request.POST.get("key", ""), plan_id=plan)
        except Refusal as refusal:
            return self.preview(plan, status=409, refusal=refusal)
        messages.info(request, _("The plan is dropped. It held nothing."))
        return redirect("plans")


@method_decorator(never_cache, name="dispatch")
class RunPlan(PlanPage):
    """Show the run; its live part asks for itself until the plan has ended, then the whole page comes anew."""

    def get(self, request: HttpRequest, plan: int) -> HttpResponse:
        found = self.found(plan)
        if found.job_id is None:
            return redirect("plan", plan)
        context = plan_page.run(plan=found, now=claiming.database_now())
        if request.headers.get("HX-Request"):
            answer = self.page(context, template="money/_run.html")
            if not context["live"]:
                answer["HX-Refresh"] = "true"
            return answer
        rows = plan_page.rows(found.lines.order_by("position"), person=self.person)
        return self.page({**context, "rows": rows}, template="money/run.html")


class HaltPlan(PlanPage):
    """Stop a run, or free what an ended one left open."""

    permission = "money.confirm_release"
    http_method_names = ["post", "options"]

    def post(self, request: HttpRequest, plan: int) -> HttpResponse:
        self.found(plan)
        try:
            outcome = commands.dispatch(
                settling.halt_plan, actor=self.actor, key=request.POST.get("key", ""), plan_id=plan
            )
        except Refusal as refusal:
            messages.error(request, str(refusal.message))
        else:
            stopped = _("The plan is stopped. What was not released is free again.")
            messages.info(request, stopped if outcome.data["stopped"] else _("The run stops after the line it is at."))
        return redirect("plan-run", plan)
