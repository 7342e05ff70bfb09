"""Make payouts to export, and do a worker's part of a job in this process."""

from __future__ import annotations

import csv
import io
import urllib.request
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from backoffice.jobs import running, statements
from backoffice.jobs.errors import Cancelled
from backoffice.jobs.models import Job
from backoffice.tenants import scope
from queues.models import Payout

OPENED = datetime(2026, 3, 1, 9, 30, 15, 120_000, tzinfo=UTC)


def make_payouts(number: int, *, texts: Sequence[str] = (), **wanted: Any) -> list[Payout]:
    """Create payouts in the open tenant; `texts` become the descriptions, in turn."""
    made = [
        Payout(
            **{
                "tenant": scope.current(),
                "reference": f"PO-{at}",
                "beneficiary": f"Payee {at}",
                "account": f"GB29NWBK{at:014d}",
                "amount": Decimal(at) + Decimal("1.25"),
                "currency": ("EUR", "USD", "JPY")[at % 3],
                "description": texts[at % len(texts)] if texts else "",
                "opened_at": OPENED + timedelta(days=at % 90),
                **wanted,
            }
        )
        for at in range(number)
    ]
    return list(Payout.objects.bulk_create(made, batch_size=2_000))


def claim(job: Job, *, kinds: Sequence[str] = ("export.run", "report.run")) -> running.Run:
    """Take the queued job as a worker does, and return its run."""
    rows = statements.on_django("claim", {"id": job.pk, "owner": "test", "kinds": list(kinds)})
    assert rows, "the job is not there to be claimed"
    held = Job.objects.select_related("tenant").get(pk=job.pk)
    return running.Run(job=held, steps={step.name: step.state for step in held.steps.all()})


def work_off(job: Job) -> Job:
    """Run the queued job to the end of its attempt, and return it as it then stands."""
    running.work(claim(job))
    job.refresh_from_db()
    return job


def fetch(url: str) -> bytes:
    """Follow a signed link as a browser does: without any cookie of ours."""
    with urllib.request.urlopen(url, timeout=20) as answer:  # noqa: S310  (a link that the product signed)
        return bytes(answer.read())


def read_csv(data: bytes, *, encoding: str = "utf-8-sig") -> list[dict[str, str]]:
    """Read the file with a standard reader."""
    return list(csv.DictReader(io.StringIO(data.decode(encoding), newline="")))


class Watcher:
    """Note what a run reports; stop it after so many reports when told to."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.reports: list[tuple[int, int]] = []
        self.stop_after = stop_after

    def check(self) -> None:
        if self.stop_after is not None and len(self.reports) >= self.stop_after:
            raise Cancelled("stop")

    def insist(self) -> None:
        self.check()

    def report(self, done: int, total: int) -> None:
        self.reports.append((done, total))
