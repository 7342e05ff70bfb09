"""A run ends with every process that it started, however it ends."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from backoffice import commands, jobs
from backoffice.commands import Actor
from backoffice.jobs.models import Job
from backoffice.tenants.models import Tenant, User
from tests.probe_jobs import processes
from tests.probe_jobs.definitions import probes  # noqa: F401  (registers the probes)


@pytest.fixture
def person(make_person: Callable[..., User]) -> User:
    return make_person(roles=("analyst",))


def _submitted(person: User, folder: Path, **more: int) -> Job:
    return jobs.submit(kind="probe.family", key="a", arguments={"folder": str(folder), **more}, requested_by=person)


def _family(folder: Path) -> list[int]:
    """Return the work-horse, its child, and its grandchild in another session."""
    entered = folder / "family-1"
    processes.wait_until(entered.exists, within=40)
    found = [int(one) for one in entered.read_text().split()]
    assert len({os.getsid(pid) for pid in found}) == 2
    return found


def _all_gone(family: list[int]) -> None:
    for pid in family:
        processes.wait_until(lambda pid=pid: not processes.is_alive(pid), within=5, what=f"process {pid} ended")


def test_killing_the_worker_ends_all_that_its_run_started(tenant: Tenant, person: User, tmp_path: Path) -> None:
    _submitted(person, tmp_path)
    with processes.running("worker", "interactive") as worker:
        family = _family(tmp_path)
        assert all(processes.is_alive(pid) for pid in family)
        worker.kill()
        _all_gone(family)


@pytest.mark.parametrize("way", ["kill-horse", "cancel", "terminate"])
def test_the_keeper_ends_all_that_the_run_started(tenant: Tenant, person: User, tmp_path: Path, way: str) -> None:
    job = _submitted(person, tmp_path)
    with processes.running("worker", "interactive", "--stop-within", "1") as worker:
        family = _family(tmp_path)
        if way == "kill-horse":
            os.kill(family[0], signal.SIGKILL)
        elif way == "cancel":
            commands.dispatch(jobs.cancel, actor=Actor.person(person), key="k", job_id=job.pk)
        else:
            worker.terminate()
        _all_gone(family)


def test_a_run_that_succeeds_leaves_no_process_behind(tenant: Tenant, person: User, tmp_path: Path) -> None:
    job = _submitted(person, tmp_path, wait=0)
    with processes.running("worker", "interactive") as worker:
        entered = tmp_path / "family-1"
        processes.wait_until(entered.exists, within=40)
        processes.wait_until(lambda: Job.objects.get(pk=job.pk).is_final, within=10)
        _all_gone([int(one) for one in entered.read_text().split()])
        assert Job.objects.get(pk=job.pk).state == "succeeded"
        after = jobs.submit(kind="probe.idle", key="b")
        processes.wait_until(lambda: Job.objects.get(pk=after.pk).is_final, within=10)
        assert worker.poll() is None


def test_the_watching_process_goes_with_its_worker(tenant: Tenant, tmp_path: Path) -> None:
    def survivors() -> list[str]:
        return [one for one in os.listdir("/proc") if one.isdigit() and _is_survivor(Path("/proc") / one)]

    before = set(survivors())
    job = jobs.submit(kind="probe.idle", key="a")
    with processes.running("worker", "interactive", "--burst") as worker:
        assert worker.wait(60) == 0
    assert Job.objects.get(pk=job.pk).is_final
    processes.wait_until(lambda: set(survivors()) <= before, within=5)


def _is_survivor(process: Path) -> bool:
    try:
        return b"backoffice/jobs/surviving.py" in (process / "cmdline").read_bytes()
    except OSError:
        return False
