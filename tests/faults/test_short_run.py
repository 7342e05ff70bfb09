"""A short fault run on servers of its own: whatever died in between, what the record says happened, happened."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults import injecting

PROJECT = Path(__file__).resolve().parents[2]


@pytest.mark.timeout(240)
@pytest.mark.proves("jobs#prevent-duplicate-completion", "jobs#tolerate-duplicate-execution", "record#04", "record#05")
def test_every_job_ends_once_and_every_effect_happens_once_through_all_the_faults() -> None:
    own = {"DATABASE_URL", "DATABASE_OWNER_URL", "DATABASE_SUPERUSER_URL", "REDIS_URL", "S3_ENDPOINT_URL"}
    clean = {name: value for name, value in os.environ.items() if name not in own}
    run = subprocess.run(
        [sys.executable, "-m", "tests.faults", "--minutes", "0.4", "--seed", "7"],
        cwd=PROJECT,
        env=clean,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stdout, run.stderr[-4000:]
    summary = json.loads(run.stdout)
    assert summary["problems"] == [], run.stdout
    assert len(summary["faults"]) >= 10, run.stdout
    assert summary["jobs"] >= 20, run.stdout


def test_a_seed_repeats_its_plan_and_a_minute_holds_every_fault() -> None:
    one, two = (injecting.plan(seed=3, seconds=60) for _turn in range(2))
    assert one == two != injecting.plan(seed=4, seconds=60)
    assert {planned.fault for planned in one} == set(injecting.WEIGHTS)
    assert [planned.at for planned in one] == sorted(planned.at for planned in one)
