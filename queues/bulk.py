"""Do one thing to many items: choose them, say what is to be done, and keep what came of each.

The choice is resolved once, on the server, and frozen: the number on the confirm page is the number that is
handled. What was chosen is not held meanwhile; each item's own command sees to it that nothing is done to one
that changed since. A small run is done in the request, a larger one by a job (queues/bulk_running.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from django.db import connection
from django.db.models import Count
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from backoffice import commands, jobs, sql
from backoffice.commands import Actor, Outcome, command
from backoffice.errors import NotPermitted, Refusal
from backoffice.jobs.models import Job
from backoffice.tenants import scope
from backoffice.tenants.models import User
from queues import claiming, handing, listing, setting_aside
from queues.base import ClaimMode, Queue, queues
from queues.models import BulkLine, BulkRun
from queues.models.item import list_order

MOST = 10_000
IN_REQUEST = 100  # items that are done before the answer; more become a job
JOB_KIND = "queues.bulk"
SYSTEM = "bulk"

_SQL = Path(__file__).parent / "sql"
_SEEN = ("id", "reference", "claim_holder_id", "claim_token", "version", "lease_until")


@dataclass(frozen=True)
class Wish:
    """What is to be done: "assign" to people with a note, "snooze" until a time or "release", with a reason.

    Several people are given items in turn, each as far as they have room (queues/sharing.py).
    """

    act: str
    to: tuple[int, ...] = ()
    until: datetime | None = None
    reason: str = ""


def choose(
    *,
    actor: Actor,
    queue: str,
    filters: Mapping[str, str],
    ids: Sequence[int],
    everything: bool,
    suffix: str,
    key: str,
) -> Outcome:
    """Freeze these items, or everything that the filters let through; `run_id` and `count` are in the outcome."""
    chosen: dict[str, Any] = {"filters": dict(filters)} if everything else {"ids": sorted(set(ids))}
    return commands.dispatch(choose_items, actor=actor, key=key, queue=queue, suffix=suffix[:1000], **chosen)


def start(*, actor: Actor, run_id: int, wish: Wish, key: str) -> Outcome:
    """Begin the run; `job_id` in the outcome is None where it is done in the request."""
    until = wish.until.isoformat() if wish.until else None
    asked: dict[str, Any] = {"act": wish.act, "to": list(wish.to), "until": until, "reason": wish.reason}
    return commands.dispatch(start_run, actor=actor, key=key, run_id=run_id, **asked)


@command("bulk.choose", permission="queues.claim")
def choose_items(
    *, actor: Actor, queue: str, suffix: str, ids: list[int] | None = None, filters: dict[str, str] | None = None
) -> Outcome:
    """Write down the chosen items of the open tenant in list order, each once, as they are seen now."""
    listed, person = setting_aside.worker(actor, queue)
    if filters is None:
        rows = listed.model.objects.filter(pk__in=ids or [])
    else:
        rows = listing.matching(queue=listed, filters=filters, person=person)
    run = BulkRun.objects.create(tenant=scope.current(), queue=queue, suffix=suffix, requested_by=person)
    inner, values = rows.order_by(*list_order()).values(*_SEEN)[: MOST + 1].query.sql_with_params()
    text = sql.read(_SQL / "bulk_choose.sql").replace("/* chosen */", inner)
    with connection.cursor() as cursor:
        cursor.execute(text, [scope.current().pk, run.pk, *values])
        count = cursor.rowcount
    if not count:
        raise Refusal("nothing-chosen", _("Choose items first: none of those chosen is here."))
    if count > MOST:
        words = _("More than %(most)s items match. Narrow the filters, or choose fewer.")
        raise Refusal("too-many", words % {"most": f"{MOST:,}"})
    BulkRun.objects.filter(pk=run.pk).update(line_count=count)
    return Outcome(target=run.target, data={"run_id": run.pk, "count": count})


@command("bulk.start", permission="queues.claim", target="bulk:{run_id}")
def start_run(*, actor: Actor, run_id: int, act: str, to: list[int], until: str | None, reason: str) -> Outcome:
    """Fix what is to be done, once; submit the job where there are many items."""
    run = _own(actor, run_id)
    listed, person = setting_aside.worker(actor, run.queue)
    if run.state != BulkRun.State.CHOSEN:
        raise Refusal("started", _("This was started already. Look at what came of it."))
    text = _words(listed, person, act, to, until, reason)
    job_id = None
    if run.line_count > IN_REQUEST:
        job_id = jobs.submit(
            kind=JOB_KIND, key=run.target, arguments={"run_id": run.pk, "queue": run.queue}, requested_by=person
        ).pk
    BulkRun.objects.filter(pk=run.pk).update(
        state=BulkRun.State.RUNNING, act=act, to=to, until=until, reason=text, job_id=job_id, started_at=Now()
    )
    return Outcome(target=run.target, data={"job_id": job_id, "count": run.line_count})


@command("bulk.go-on", permission="queues.claim", target="bulk:{run_id}")
def go_on(*, actor: Actor, run_id: int) -> Outcome:
    """Let a job do what is left of a run whose request ended before it was through."""
    run = _own(actor, run_id)
    if run.state != BulkRun.State.RUNNING or run.job_id is not None:
        raise Refusal("not-waiting", _("Nothing of this waits to be gone on with."))
    job = jobs.submit(
        kind=JOB_KIND, key=run.target, arguments={"run_id": run.pk, "queue": run.queue}, requested_by=actor.user
    )
    BulkRun.objects.filter(pk=run.pk).update(job_id=job.pk)
    return Outcome(target=run.target, data={"job_id": job.pk})


@command("bulk.halt", permission="queues.claim", target="bulk:{run_id}")
def halt(*, actor: Actor, run_id: int) -> Outcome:
    """Stop a run: at once while it waits or once its job has ended, else by asking its job."""
    run = _own(actor, run_id, supervised=True)
    if run.state != BulkRun.State.RUNNING:
        raise Refusal("ended", _("This has ended already."))
    job = Job.objects.filter(pk=run.job_id).first() if run.job_id else None
    if job is not None:
        jobs.request_cancel(job=job, by=actor.name)
    if job is None or job.is_final:
        end(run, _("Stopped by %s.") % (actor.user or actor.name))
        return Outcome(target=run.target, data={"stopped": True})
    return Outcome(target=run.target, data={"stopped": False})


@command("bulk.settle", systems=(SYSTEM,), unaudited="each item's own command writes its history")
def settle_lines(*, actor: Actor, run_id: int, answers: list[dict[str, Any]]) -> Outcome:
    """Write down what came of some lines. What was counted as not started before may turn out to be done."""
    with connection.cursor() as cursor:
        cursor.execute(
            sql.read(_SQL / "bulk_settle.sql"),
            {
                "tenant": scope.current().pk,
                "run": run_id,
                "positions": [one["position"] for one in answers],
                "states": [one["state"] for one in answers],
                "given": [one["given_to"] for one in answers],
                "codes": [one["code"] for one in answers],
                "words": [one["words"][:300] for one in answers],
            },
        )
    return Outcome(target=f"bulk:{run_id}")


@command("bulk.end", systems=(SYSTEM,))
def end_run(*, actor: Actor, run_id: int, reason: str) -> Outcome:
    """End the run: with no reason when every line has its answer, else because of what stopped it."""
    run = BulkRun.objects.select_for_update(of=("self",)).get(pk=run_id)
    if run.state == BulkRun.State.RUNNING:
        end(run, reason)
    return Outcome(target=run.target, data={"reason": reason, **counts(run)})


def end(run: BulkRun, reason: str) -> None:
    """End the run; lines without an answer were not started, unless their command's receipt says otherwise."""
    with connection.cursor() as cursor:
        cursor.execute(sql.read(_SQL / "bulk_end.sql"), {"tenant": scope.current().pk, "run": run.pk})
    BulkRun.objects.filter(pk=run.pk).update(state=BulkRun.State.ENDED, ended_at=Now(), ended_reason=reason[:300])


def counts(run: BulkRun) -> dict[str, int]:
    """Count the run's lines by state."""
    found = dict(run.lines.order_by().values_list("state").annotate(number=Count("pk")))
    return {str(state): found.get(state, 0) for state in BulkLine.State.values}


def visible(*, person: User, queue: str) -> Any:
    """Return the runs of the queue that the person may read: their own, and all for a supervisor."""
    rows = BulkRun.objects.filter(queue=queue).select_related("requested_by")
    return rows if person.has_perm("queues.supervise") else rows.filter(requested_by=person)


def _own(actor: Actor, run_id: int, *, supervised: bool = False) -> BulkRun:
    """Lock a run of the actor's own; a supervisor also reaches others' where the act allows it."""
    run = BulkRun.objects.select_for_update(of=("self",)).select_related("requested_by").filter(pk=run_id).first()
    if run is None or actor.user is None:
        raise Refusal("gone", _("This is not here any more. Choose the items again."))
    if run.requested_by_id != actor.user.pk and not (supervised and actor.user.has_perm("queues.supervise")):
        raise NotPermitted("not-permitted", _("Somebody else chose these items."))
    return run


def _words(listed: Queue, person: User, act: str, to: list[int], until: str | None, reason: str) -> str:
    """Check what is asked for; return its words as they are kept."""
    if act == BulkRun.Act.SNOOZE:
        setting_aside.check_until(datetime.fromisoformat(until) if until else None, now=claiming.database_now())
        return setting_aside.reason_kept(reason)
    if act not in BulkRun.Act.values:
        raise Refusal("unknown-act", _("Choose what to do."))
    if listed.claims.mode is ClaimMode.DISABLED:
        raise Refusal("claims-off", _("Items of this queue are not claimed; decide them directly."))
    if act == BulkRun.Act.ASSIGN:
        if not person.has_perm("queues.supervise"):
            raise NotPermitted("not-permitted", _("A supervisor assigns items."))
        if not to:
            raise Refusal("nobody-chosen", _("Choose a person."))
        able = {one.pk for one in handing.workers(listed)}
        if not set(to) <= able:
            raise Refusal("not-a-colleague", _("Choose a person who works in this queue."))
        return handing.note_kept(reason)
    return setting_aside.reason_kept(reason) if reason.strip() else ""


def queue_of(run: BulkRun) -> Queue:
    """Return the queue that the items were chosen from."""
    return queues.get(run.queue)
