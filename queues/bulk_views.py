"""The pages that do one thing to many items: what was chosen, what can be done with it, what came of each.

Choosing freezes the items (queues/bulk.py) and goes to the run's own page, which can be reloaded, left and
found again: first it asks what is to be done, then it shows the progress, then the answers.
"""

from __future__ import annotations

from typing import Any

from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _

from backoffice import commands
from backoffice.errors import Refusal
from queues import bulk, bulk_page, bulk_running, handing, list_page, setting_aside
from queues.claiming import database_now
from queues.models import BulkRun
from queues.views import QueuePage

RUNS = 50


class QueueBulk(QueuePage):
    """List the runs that the person may read; freeze a choice that came from the list."""

    http_method_names = ["get", "head", "post", "options"]

    def get(self, request: HttpRequest, queue: str) -> HttpResponse:
        rows = bulk.visible(person=self.person, queue=queue).order_by("-id")
        before = request.GET.get("before", "")
        if before.isascii() and before.isdigit() and len(before) <= 18:
            rows = rows.filter(pk__lt=int(before))
        found = list(rows.exclude(state=BulkRun.State.CHOSEN)[: RUNS + 1])
        context = {
            "queue": self.queue,
            "title": _("Done to many items"),
            "runs": [(run, bulk_page.words(run)) for run in found[:RUNS]],
            "older": found[RUNS - 1].pk if len(found) > RUNS else None,
            "supervises": self.person.has_perm("queues.supervise"),
        }
        return self.page(context, template="queues/bulk_runs.html")

    def post(self, request: HttpRequest, queue: str) -> HttpResponse:
        ids = [text for text in request.POST.getlist("ids[]") if text]
        if not all(text.isascii() and text.isdigit() and len(text) <= 18 for text in ids):
            raise BadRequest("ids are numbers")
        try:
            outcome = bulk.choose(
                actor=self.actor,
                queue=queue,
                filters=list_page.filters_of(queue=self.queue, query=request.GET),
                ids=[int(text) for text in ids],
                everything=request.POST.get("all") == "1",
                suffix=self.suffix,
                key=self.key,
            )
        except Refusal as refusal:
            return self.listing(refusal=refusal)
        return _see(queue, outcome.data["run_id"])


class BulkRunPage(QueuePage):
    """Show one run. Others than who chose it and supervisors find nothing here."""

    run: BulkRun

    def setup(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        super().setup(request, *args, **kwargs)
        self.run_id: int = kwargs["run"]

    def required_permission(self) -> str:
        return self.queue.work

    def found_run(self) -> BulkRun:
        run = bulk.visible(person=self.person, queue=self.queue.name).filter(pk=self.run_id).first()
        if run is None or (run.state == BulkRun.State.CHOSEN and run.requested_by_id != self.person.pk):
            raise Http404
        return run

    def get(self, request: HttpRequest, queue: str, run: int) -> HttpResponse:
        found = self.found_run()
        if found.state == BulkRun.State.CHOSEN:
            return self.confirm(found, None)
        return self.results(found)

    def confirm(self, run: BulkRun, refusal: Refusal | None) -> HttpResponse:
        context = bulk_page.confirm(queue=self.queue, run=run, person=self.person, tried=self.request.POST)
        return self._answer("queues/bulk.html", context, refusal)

    def results(self, run: BulkRun, refusal: Refusal | None = None) -> HttpResponse:
        context = bulk_page.results(queue=self.queue, run=run, person=self.person, query=self.request.GET)
        if self.request.headers.get("HX-Request"):
            answer = self.page(context, template="queues/_bulk_progress.html")
            if not context["live"]:
                answer["HX-Refresh"] = "true"
            return answer
        return self._answer("queues/bulk_done.html", context, refusal)


class StartBulkRun(BulkRunPage):
    """Say what is to be done; a small run is through when the answer comes, a large one shows its progress."""

    http_method_names = ["post", "options"]

    def post(self, request: HttpRequest, queue: str, run: int) -> HttpResponse:
        found = self.found_run()
        try:
            outcome = bulk.start(actor=self.actor, run_id=run, wish=self._wish(), key=self.key)
        except Refusal as refusal:
            found.refresh_from_db()
            if found.state == BulkRun.State.CHOSEN:
                return self.confirm(found, refusal)
            return self.results(found, refusal)
        if outcome.data["job_id"] is None and not outcome.replayed:
            bulk_running.run_now(run_id=run)
        return _see(queue, run)

    def _wish(self) -> bulk.Wish:
        posted = self.request.POST
        act, until = posted.get("act", ""), None
        if act == BulkRun.Act.SNOOZE:
            until = setting_aside.chosen(
                preset=posted.get("preset", ""), typed=posted.get("until", ""), now=database_now()
            )
        texts = posted.getlist("to")[: handing.MOST]
        if not all(text.isascii() and text.isdigit() and len(text) <= 18 for text in texts):
            raise BadRequest("people are numbers")
        people = tuple(int(text) for text in texts)
        return bulk.Wish(act=act, to=people, until=until, reason=posted.get("reason", ""))


class ChangeBulkRun(BulkRunPage):
    """Stop a run, or let a job go on with what a request left."""

    http_method_names = ["post", "options"]
    act = "halt"

    def post(self, request: HttpRequest, queue: str, run: int) -> HttpResponse:
        found = self.found_run()
        command = bulk.halt if self.act == "halt" else bulk.go_on
        try:
            commands.dispatch(command, actor=self.actor, key=self.key, run_id=run)
        except Refusal as refusal:
            found.refresh_from_db()
            return self.results(found, refusal)
        return _see(queue, run)


def _see(queue: str, run: int) -> HttpResponse:
    response = HttpResponseRedirect(reverse("bulk-run", args=[queue, run]))
    response.status_code = 303
    return response
