"""A queue over a new model takes one command: proved in a copy of the project."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

ROOT = Path(__file__).resolve().parents[2]


def _manage(copy: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=copy,
        env={**os.environ, "BACKOFFICE_DATA": str(copy / "none")},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for name in ("backoffice", "queues", "exports", "reports", "templates", "static"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("manage.py", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_startqueue_writes_a_queue_that_checks_and_needs_no_further_migration(copy: Path) -> None:
    made = _manage(copy, "startqueue", "chargeback-cases")
    assert made.returncode == 0, made.stderr
    checked = _manage(copy, "check", "--fail-level", "ERROR")
    assert checked.returncode == 0, checked.stderr
    assert _manage(copy, "makemigrations", "--check", "--dry-run").returncode == 0
    told = _manage(copy, "definitions")
    assert "chargeback-cases" in told.stdout, told.stderr
    (migration,) = (copy / "queues/migrations").glob("*_queue_chargeback_cases.py")
    assert 'TenantRowSecurity("queues_chargebackcase")' in migration.read_text()
    files = ["queues/models", "queues/definitions", "backoffice/tenants/roles.py"]
    style = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--check", *files],
        cwd=copy,
        capture_output=True,
        text=True,
        check=False,
    )
    assert style.returncode == 0, style.stdout
    again = _manage(copy, "startqueue", "chargeback-cases")
    assert again.returncode == 1 and "There already" in again.stderr


@pytest.mark.parametrize("name", ["Refunds", "../x", "a--b", "1st", "disputes"])
def test_startqueue_refuses_a_name_that_is_no_address_or_taken(name: str) -> None:
    with pytest.raises(CommandError):
        call_command("startqueue", name)
