"""A worker killed in the middle of a release: no orphan goes on, and every line still ends with one effect."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from backoffice.commands.models import Receipt
from backoffice.jobs.models import Job
from backoffice.tenants.models import User
from queues.models import Payout
from queues.money import confirming, ledger, sweeping
from queues.money.models import Entry, Plan, PlanLine, Transfer
from tests.making_codes import fresh_code, make_device
from tests.making_money import make_payouts, make_plan

ROOT = Path(__file__).resolve().parents[2]
LINES = 800


class Processes:
    """Processes of the product, started by the test and ended with it."""

    def __init__(self) -> None:
        self.started: list[subprocess.Popen[bytes]] = []

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen([sys.executable, "manage.py", *arguments], cwd=ROOT)
        self.started.append(process)
        return process

    def stop(self) -> None:
        for process in self.started:
            process.terminate()
        for process in self.started:
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@pytest.fixture
def processes(database: None) -> Iterator[Processes]:
    made = Processes()
    yield made
    made.stop()


@pytest.fixture
def plan(make_person: Callable[..., User]) -> Plan:
    finance = make_person(roles=("finance",))
    made = make_plan(finance, make_payouts(LINES))
    code = fresh_code(make_device(finance))
    confirming.confirm(person=finance, plan_id=made.pk, digest=made.digest, code=code, key="confirm")
    return made


def _wait(what: str, true: Callable[[], object], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, f"waited {seconds} s for {what}"
        time.sleep(0.02)


def _horse_of(worker: subprocess.Popen[bytes]) -> int:
    children = Path(f"/proc/{worker.pid}/task/{worker.pid}/children").read_text().split()
    assert len(children) == 1, children
    return int(children[0])


def _lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def _done() -> int:
    return PlanLine.objects.filter(state="done").count()


def _state(plan: Plan) -> str:
    return Plan.objects.get(pk=plan.pk).state


@pytest.mark.timeout(150)
@pytest.mark.parametrize("killed", ["parent", "horse"])
def test_a_killed_worker_leaves_no_orphan_and_every_line_has_one_effect(
    plan: Plan, processes: Processes, killed: str
) -> None:
    processes.start("scheduler")
    worker = processes.start("worker", "interactive")
    _wait("a part of the lines", lambda: _done() >= 50)
    horse = _horse_of(worker)
    os.kill(worker.pid if killed == "parent" else horse, signal.SIGKILL)
    _wait("the end of the work-horse", lambda: not _lives(horse), seconds=5)
    if killed == "parent":
        worker.wait()
        first = _done()
        time.sleep(1)
        assert _done() == first, "an orphan goes on"
        assert first < LINES, "the kill came too late to prove anything"
        processes.start("worker", "interactive")
    _wait("the end of the run", lambda: _state(plan) == "done", seconds=100)
    job = Job.objects.get()
    _wait("the end of the job", lambda: Job.objects.get().state == "succeeded", seconds=20)
    assert job.fence > 1, "one attempt did it all"
    assert set(PlanLine.objects.values_list("state", flat=True)) == {"done"}
    assert Transfer.objects.count() == LINES
    assert Entry.objects.count() == 2 * LINES
    assert Receipt.objects.filter(command="payout.release").count() == LINES
    assert Payout.objects.filter(state="paid", plan_id=plan.pk).count() == LINES
    released = {currency: str(total) for currency, (_number, total) in ledger.released(plan_id=plan.pk).items()}
    assert released == {row["currency"]: f"{row['total']}00" for row in plan.totals}


@pytest.mark.timeout(120)
def test_a_cancelled_run_stops_and_frees_the_rest(plan: Plan, processes: Processes) -> None:
    worker = processes.start("worker", "interactive")
    _wait("a part of the lines", lambda: _done() >= 50)
    from backoffice import jobs

    assert jobs.request_cancel(job=Job.objects.get(), by="the test")
    _wait("the end of the job", lambda: Job.objects.get().state == "cancelled", seconds=30)
    assert worker.poll() is None
    sweeping.stop_ended_plans()
    assert _state(plan) == "cancelled"
    done = _done()
    assert done < LINES and Transfer.objects.count() == done
    assert PlanLine.objects.filter(state="not_started").count() == LINES - done
    assert Payout.objects.filter(state="approved", plan_id=None).count() == LINES - done
