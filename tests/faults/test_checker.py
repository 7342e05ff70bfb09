"""The checker finds what it is there to find."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from backoffice import jobs
from backoffice.audit.models import AuditEvent
from backoffice.jobs.models import Job
from backoffice.tenants.models import Tenant
from tests.faults import checking
from tests.faults.load import Intention
from tests.probe_jobs import claiming
from tests.probe_jobs.definitions import effects  # noqa: F401  (registers the probes)

ARGUMENTS: dict[str, int | str] = {"pause": 0, "times": 0, "size": 10, "refuse": 0}


@pytest.fixture
def done(tenant: Tenant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_person: Callable) -> Job:
    """Run one job with its effects."""
    (tmp_path / "done").mkdir()
    monkeypatch.setenv("FAULTS_FOLDER", str(tmp_path))
    person = make_person(roles=("analyst",))
    job = jobs.submit(kind="probe.effects", key="a", arguments=ARGUMENTS, requested_by=person)
    claiming.run(job)
    return job


def _problems(job: Job, folder: Path) -> str:
    wanted = Intention("probe.effects", "a", ARGUMENTS, job.pk)
    return "\n".join(checking.problems(intentions=[wanted], cancelled=set(), folder=folder))


def test_a_right_record_has_no_problems_and_a_wrong_effect_is_one(done: Job, tmp_path: Path) -> None:
    assert _problems(done, tmp_path) == ""
    whole = (tmp_path / "effects").read_text()
    (tmp_path / "effects").write_text(whole + f"{done.pk}-two\n")
    assert f"effect {done.pk}-two happened 2 times outside" in _problems(done, tmp_path)
    (tmp_path / "effects").write_text(whole.replace(f"{done.pk}-two\n", ""))
    assert f"effect {done.pk}-two of a step that is done is missing outside" in _problems(done, tmp_path)
    (tmp_path / "effects").write_text(whole)
    mark = AuditEvent.objects.filter(act="probe.mark").first()
    AuditEvent.objects.create(tenant=mark.tenant, actor="x", act="probe.mark", outcome=mark.outcome, target=mark.target)
    assert "happened 2 times inside" in _problems(done, tmp_path)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("DELETE FROM job_event WHERE name = 'succeeded'", "ended []"),
        ("DELETE FROM job_event WHERE name = 'claimed'", "claimed under []"),
        ("DELETE FROM job_notice", "gave 0 notices"),
        ("UPDATE job SET state = 'failed'", "is failed"),
        ("UPDATE job SET progress = 67", "progress 67"),
        ("UPDATE job SET state = 'queued', settled_at = NULL", "never settled"),
        ("UPDATE job_step SET state = 'running', settled_at = NULL WHERE name = 'two'", "a step never ended"),
        ("UPDATE job_event SET fence = 9 WHERE seq = 3", "goes back"),
        ("DELETE FROM job_notice; DELETE FROM job_event; DELETE FROM job_step; DELETE FROM job", "has 0 jobs"),
    ],
)
def test_a_record_that_cannot_be_is_named(
    done: Job, tmp_path: Path, superuser: psycopg.Connection, change: str, problem: str
) -> None:
    superuser.execute("SET session_replication_role = replica")  # past the triggers that forbid it
    try:
        superuser.execute(change)
    finally:
        superuser.execute("RESET session_replication_role")
    assert problem in _problems(done, tmp_path)


def test_a_sample_sees_what_falls_and_what_changes_after_its_end(done: Job, superuser: psycopg.Connection) -> None:
    watcher = checking.Watcher()
    watcher.look()
    watcher.look()
    assert watcher.problems == []
    superuser.execute("SET session_replication_role = replica")
    try:
        superuser.execute("UPDATE job SET progress = 30")
    finally:
        superuser.execute("RESET session_replication_role")
    watcher.look()
    assert len(watcher.problems) == 2
