"""A definition that is wrong fails `manage.py check`, each mistake under its own id."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from backoffice import schedules
from backoffice.jobs import Backoff, NoConsequence
from backoffice.runbooks import Runbook
from backoffice.schedules import (
    Gap,
    Guard,
    ManualJob,
    Misfire,
    Overlap,
    RunsWhere,
    ScheduledJob,
    Spread,
    StillGoing,
    base,
    expiring,
    zones,
)

RIGHT: dict[str, Any] = {
    "name": "test.right",
    "__doc__": "Do it.",
    "title": "Do it",
    "spread": Spread.TENANT,
    "selects": schedules.once,
    "runs": expiring.expire_jobs,
    "batch_size": 1,
    "attempts": 3,
    "backoff": Backoff(),
    "max_duration": timedelta(minutes=1),
    "retention": "schedules.retention",
    "failure": NoConsequence("none"),
    "runbook": schedules.runbook_of("test.right"),
}
SCHEDULED = {**RIGHT, "every": timedelta(minutes=1), "misfire": Misfire.ONCE, "still_going": StillGoing.SKIP}
MANUAL = {**RIGHT, "runs_where": RunsWhere.ANY, "guard": Guard(permission="x.y", hours="at any time")}
LOCAL = {"every": None, "cron": "0 9 * * *", "zone": "Europe/Berlin", "business_reason": "statements at nine"}
POLICIES = {"gap": Gap.SHIFT, "overlap": Overlap.FIRST}


def found(kind: type = ScheduledJob, **options: Any) -> list[str]:
    stated = {**(SCHEDULED if kind is ScheduledJob else MANUAL), **options}
    cls = type("Wrong", (kind,), {name: value for name, value in stated.items() if value is not ...})
    messages = cls().check()
    assert all((m.hint and m.msg.startswith("test.right: ")) or m.id == "schedules.E013" for m in messages)
    return [str(m.id) for m in messages]


def test_a_right_definition_passes() -> None:
    assert found() == found(ManualJob) == []
    assert found(**LOCAL, **POLICIES) == []


@pytest.mark.proves("jobs#carry-the-schedule-on-the-job-record")
@pytest.mark.parametrize(
    "options",
    [
        {"every": None},
        {"cron": "0 9 * * *"},
        {"every": timedelta(seconds=0.5)},
        {"every": "daily"},
        {"every": None, "cron": "at nine"},
        {"every": None, "cron": "0 0 30 2 *"},
        {"every": None, "cron": "0 0 9 * * *"},
        {"every": None, "cron": "0 25 * * *"},
        {"zone": "Europe/Berlin", "business_reason": "x", **POLICIES},
        {"every": None, "cron": "0 9 * * *", "zone": "CEST", "business_reason": "x", **POLICIES},
        {"anchor": datetime(2026, 1, 1)},
    ],
)
def test_a_schedule_that_no_tool_can_read(options: dict[str, Any]) -> None:
    assert found(**options) == ["schedule-invalid"]


@pytest.mark.proves("jobs#prefer-utc-schedules", "jobs#define-business-local-clock-behavior")
def test_another_zone_than_utc_needs_its_reason_and_both_policies() -> None:
    assert ScheduledJob.zone == "UTC"
    assert found(**LOCAL) == ["schedules.E015", "schedules.E016"]
    assert found(**LOCAL, gap=Gap.SKIP) == ["schedules.E016"]
    assert found(**{**LOCAL, **POLICIES, "business_reason": ""}) == ["schedules.E014"]
    assert all(job.zone == "UTC" or job.business_reason for job in base.jobs if isinstance(job, ScheduledJob))


@pytest.mark.proves("jobs#run-manual-jobs-under-their-guard")
def test_a_manual_job_without_a_guard() -> None:
    assert found(ManualJob, guard=...) == ["job-guard-missing"]
    assert found(ManualJob, runs_where=...) == ["schedules.E021"]


@pytest.mark.proves("jobs#define-misfire-recovery")
def test_misfire_is_stated_with_what_it_needs() -> None:
    assert found(misfire=...) == ["schedules.E017"]
    assert found(misfire=Misfire.SKIP) == ["schedules.E018"]
    assert found(misfire=Misfire.INTERVAL, still_going=StillGoing.QUEUE) == ["schedules.E019"]
    assert found(misfire=Misfire.INTERVAL, cap=5) == ["schedules.E020"]


@pytest.mark.proves("jobs#provide-operational-recovery-procedures")
def test_each_procedure_of_the_runbook_names_a_command_that_exists() -> None:
    assert found(runbook=...) == ["schedules.E013"]
    wrong = Runbook(inspect="look at it", replay="manage.py replay-it 3", disable="manage.py schedules pause x")
    assert found(runbook=wrong) == ["schedules.E013", "schedules.E013"]
    for job in base.jobs:
        assert set(job.runbook.procedures()) == {"inspect", "replay", "disable"}
        assert job.name in job.runbook.inspect and job.name in job.runbook.disable


@pytest.mark.proves("jobs#bound-job-retries", "jobs#bound-job-duration")
@pytest.mark.parametrize(
    ("option", "values", "code"),
    [
        ("title", ["", ...], "schedules.E001"),
        ("spread", [...], "schedules.E002"),
        ("selects", [..., "all"], "schedules.E003"),
        ("runs", [..., schedules.once], "schedules.E004"),
        ("batch_size", [..., 0, 10_001], "schedules.E005"),
        ("attempts", [..., 0, 21], "schedules.E007"),
        ("backoff", [..., timedelta(seconds=1), lambda attempt: timedelta(0)], "schedules.E008"),
        ("max_duration", [..., timedelta(0)], "schedules.E009"),
        ("lease", [timedelta(0), None], "schedules.E010"),
        ("retention", [..., "no.such.setting"], "schedules.E011"),
        ("failure", [...], "schedules.E012"),
        ("still_going", [...], "schedules.E020"),
    ],
)
def test_every_required_option_has_its_id(option: str, values: list[Any], code: str) -> None:
    for value in values:
        assert found(**{option: value}) == [code], value


@pytest.mark.proves("jobs#resume-driven-work-through-the-cursor")
def test_a_job_that_drives_a_saga_names_its_cursor() -> None:
    assert found(drives_saga=True) == ["schedules.E006"]
    assert found(drives_saga=True, cursor="RefundSaga.position") == []


def test_older_zone_rules_than_the_pinned_ones_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    assert base.check_zone_data() == []
    monkeypatch.setattr(zones, "installed", lambda: "2025.2")
    (error,) = base.check_zone_data()
    assert error.id == "schedules.E022" and "2025.2" in error.msg


def test_every_definition_of_the_product_passes_and_is_described() -> None:
    assert base.jobs.check() == []
    for job in base.jobs:
        described = job.describe()
        assert described["schedule"] and described["runs"] and described["runbook"]
