"""What the pages of a bulk run show: the choice, the progress, the answers, which are paged by their position."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.db.models import Count
from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from backoffice.jobs.models import Job
from backoffice.tenants.models import User
from queues import bulk, claiming, handing, setting_aside, sharing
from queues.base import ClaimMode, Queue
from queues.models import BulkLine, BulkRun

SHOWN = 20
PAGE = 100
REASONS = 10
OVERDUE = timedelta(minutes=2)  # a request has ended by then, whatever became of it


def words(run: BulkRun) -> str:
    """Say what the run does, in words."""
    count = run.line_count
    if run.act == BulkRun.Act.ASSIGN:
        return ngettext("Assign %(count)d item", "Assign %(count)d items", count) % {"count": count}
    if run.act == BulkRun.Act.SNOOZE:
        return ngettext("Snooze %(count)d item", "Snooze %(count)d items", count) % {"count": count}
    if run.act == BulkRun.Act.RELEASE:
        return ngettext("Release %(count)d item", "Release %(count)d items", count) % {"count": count}
    return ngettext("%(count)d item chosen", "%(count)d items chosen", count) % {"count": count}


def confirm(*, queue: Queue, run: BulkRun, person: User, tried: QueryDict) -> dict[str, Any]:
    """Return what the page that asks what is to be done shows."""
    claims = queue.claims.mode is not ClaimMode.DISABLED
    supervises = person.has_perm("queues.supervise")
    people = handing.workers(queue) if claims and supervises else []
    absent = sharing.away() if people else {}
    return {
        "queue": queue,
        "run": run,
        "suffix": run.suffix,
        "title": str(queue.title),
        "count": run.line_count,
        "first": list(run.lines.order_by("position")[:SHOWN]),
        "more": max(0, run.line_count - SHOWN),
        "as_job": run.line_count > bulk.IN_REQUEST,
        "claims": claims,
        "supervises": supervises,
        "people": [(one, absent.get(one.pk)) for one in people],
        "most": queue.claims.max_held if claims else 0,
        "head": sharing.head(queue) if people else None,
        "presets": setting_aside.presets(now=claiming.database_now()),
        "tried": {name: tried.get(name, "") for name in ("act", "reason", "preset", "until")},
        "tried_people": tried.getlist("to"),
    }


def results(*, queue: Queue, run: BulkRun, person: User, query: Mapping[str, str]) -> dict[str, Any]:
    """Return what the page of a started run shows; `live` while a job or a request is at it."""
    counts = bulk.counts(run)
    job = Job.objects.filter(pk=run.job_id).first() if run.job_id else None
    running = run.state == BulkRun.State.RUNNING
    fresh = run.started_at is not None and claiming.database_now() - run.started_at < OVERDUE
    live = running and (not job.is_final if job else fresh and not run.job_id)
    settled = run.line_count - counts["open"]
    state = _chosen_state(query.get("show", ""), counts)
    after = query.get("after", "")
    rows = run.lines.order_by("position")
    if state:
        rows = rows.filter(state=state)
    if after.isascii() and after.isdigit() and len(after) <= 9:
        rows = rows.filter(position__gt=int(after))
    found = list(rows[: PAGE + 1])
    here = reverse("bulk-run", args=[queue.name, run.pk])
    names = {one.pk: str(one) for one in User.objects.filter(pk__in={*run.to, *_given(found)})}
    return {
        "queue": queue,
        "run": run,
        "suffix": run.suffix,
        "title": words(run),
        "counts": counts,
        "settled": settled,
        "live": live,
        "stopping": bool(job and job.cancel_requested_at and not job.is_final),
        "left_over": running and not live,
        "may_go_on": running and not live and run.job_id is None and run.requested_by_id == person.pk,
        "job": job,
        "own": run.requested_by_id == person.pk,
        "may_stop": run.requested_by_id == person.pk or person.has_perm("queues.supervise"),
        "to": [names.get(pk, "?") for pk in run.to],
        "given": _shares(run, names) if len(run.to) > 1 else [],
        "reasons": _reasons(run) if counts["refused"] else [],
        "tabs": _tabs(counts, run.line_count, state, here),
        "lines": [(line, line_words(line, names)) for line in found[:PAGE]],
        "next_url": f"{here}?show={state}&after={found[PAGE - 1].position}" if len(found) > PAGE else "",
        "first_url": f"{here}?show={state}" if after else "",
    }


def line_words(line: BulkLine, names: Mapping[int, str]) -> str:
    """Say what came of one item."""
    if line.state == BulkLine.State.REFUSED:
        return line.words
    if line.state == BulkLine.State.DONE and line.given_to is not None:
        return _("given to %(name)s") % {"name": names.get(line.given_to, "?")}
    return str(_labels()[line.state])


def _labels() -> dict[str, str]:
    return {"open": _("waiting"), "done": _("done"), "refused": _("refused"), "not_started": _("not started")}


def _chosen_state(asked: str, counts: Mapping[str, int]) -> str:
    """Show what was refused first, where there is any; "all" shows every line."""
    if asked in counts:
        return asked
    return "refused" if not asked and counts["refused"] else ""


def _tabs(counts: Mapping[str, int], total: int, state: str, here: str) -> list[dict[str, Any]]:
    labels = _labels()
    shown = [("all", _("All"), total)]
    shown += [(name, labels[name].capitalize(), counts[name]) for name in labels if counts[name]]
    return [
        {"label": label, "count": count, "url": f"{here}?show={name}", "current": (state or "all") == name}
        for name, label, count in shown
    ]


def _reasons(run: BulkRun) -> list[tuple[str, int]]:
    """Count what was refused by its words, the most frequent first."""
    rows = run.lines.filter(state=BulkLine.State.REFUSED).order_by().values_list("words")
    return list(rows.annotate(number=Count("pk")).order_by("-number", "words")[:REASONS])


def _shares(run: BulkRun, names: Mapping[int, str]) -> list[tuple[str, int]]:
    """Count who was given how many."""
    rows = run.lines.filter(given_to__isnull=False).order_by().values_list("given_to")
    got = dict(rows.annotate(number=Count("pk")))
    return [(names.get(pk, "?"), got.get(pk, 0)) for pk in run.to]


def _given(lines: list[BulkLine]) -> set[int]:
    return {line.given_to for line in lines if line.given_to is not None}
