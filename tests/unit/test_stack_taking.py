"""A data folder serves one stack, of one version, with room to work in."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from backoffice.stack import state, taking
from backoffice.stack.problems import StackProblem


def test_an_empty_folder_is_taken_and_given_back(tmp_path: Path) -> None:
    data = tmp_path / "new" / "data"
    os.close(taking.take(data))
    os.close(taking.take(data))
    assert (data / "FORMAT").read_text() == "1\n"


def test_a_folder_in_use_names_the_process(tmp_path: Path) -> None:
    lock = taking.take(tmp_path)
    try:
        with pytest.raises(StackProblem, match=rf"already running on the data folder .* \(process {os.getpid()}\)"):
            taking.take(tmp_path)
    finally:
        os.close(lock)


def test_what_a_killed_stack_left_running_is_waited_for(tmp_path: Path) -> None:
    # The first process takes the folder and is gone; a child of it holds the lock a moment longer.
    holds = (
        "import os, subprocess, sys; from pathlib import Path; from backoffice.stack import taking;"
        "lock = taking.take(Path(sys.argv[1]));"
        "subprocess.Popen(['sleep', '0.5'], pass_fds=[lock])"
    )
    subprocess.run([sys.executable, "-c", holds, tmp_path], check=True, cwd=state.PROJECT)
    os.close(taking.take(tmp_path))


def test_a_folder_of_another_version_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "FORMAT").write_text("7\n")
    with pytest.raises(StackProblem, match=r"another version of Backoffice \(format 7, this one reads 1\)"):
        taking.take(tmp_path)
    assert os.listdir(tmp_path) == ["FORMAT"]


def test_a_database_of_another_postgresql_is_left_alone(tmp_path: Path) -> None:
    os.close(taking.take(tmp_path))
    (tmp_path / "postgres").mkdir()
    (tmp_path / "postgres" / "PG_VERSION").write_text("17\n")
    with pytest.raises(StackProblem, match=r"belongs to PostgreSQL 17, and this is PostgreSQL 18"):
        taking.take(tmp_path)


def test_somebodys_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.odt").touch()
    with pytest.raises(StackProblem, match=r"is not empty and was not made by Backoffice"):
        taking.take(tmp_path)
    assert os.listdir(tmp_path) == ["thesis.odt"]


def test_a_full_disk_is_found_before_anything_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(taking, "free_bytes", lambda data: 499_999_999)
    with pytest.raises(StackProblem, match=r"has 499 MB left, and at least 500 MB are needed"):
        taking.take(tmp_path)
    monkeypatch.setattr(taking, "free_bytes", lambda data: 500_000_000)
    os.close(taking.take(tmp_path))


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StackProblem, match=r"/file/data cannot be written to \(Not a directory\)"):
        taking.take(tmp_path / "file" / "data")
