"""An export through the real worker: a process of its own that takes the job from the broker."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from backoffice import storage
from backoffice.commands import Actor
from backoffice.livesettings.models import SettingValue
from backoffice.tenants.models import Tenant, User
from exports import requesting
from exports.base import exports
from exports.models import ExportRequest
from queues.models import Payout
from tests.making_books import read_book
from tests.making_files import make_payouts, read_csv

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.proves("jobs#run-budget-exceeding-exports-in-worker")
@pytest.mark.parametrize("encoding", ["utf-8-sig", "xlsx"])
def test_a_worker_process_writes_what_exceeds_the_budget(
    encoding: str, tenant: Tenant, make_person: Callable[..., User]
) -> None:
    make_payouts(1_500)
    SettingValue.objects.create(tenant=tenant, name="exports.payouts.request_budget", value=1_000)
    person = make_person(roles=("analyst",))
    request = requesting.request(
        actor=Actor.person(person), key="k", definition=exports.get("payouts"), filters={}, encoding=encoding
    )
    assert request.state == "queued"
    worker = subprocess.run(
        [sys.executable, "manage.py", "worker", "bulk", "--burst"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    request = ExportRequest.objects.get(pk=request.pk)
    assert request.job is not None
    assert request.state == "done", (request.job.state, request.job.safe_reason, worker.stderr[-3_000:])
    assert request.artifact is not None
    data = storage.get(key=request.artifact.object_key)
    rows = read_csv(data) if encoding == "utf-8-sig" else read_book(data)[0].records()
    assert [int(row["id"]) for row in rows] == list(Payout.objects.order_by("id").values_list("id", flat=True))
    step = request.job.steps.get()
    assert (step.state, step.done, step.total) == ("succeeded", 1_500, 1_500)
