"""The data folder's own files: secrets, ports and the environment it gives."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from backoffice.stack import state
from backoffice.stack.problems import StackProblem

EMBEDDED = {
    "DATABASE_URL": "postgresql://app:pw@127.0.0.1:5/backoffice",
    "DATABASE_OWNER_URL": "postgresql://owner:pw@127.0.0.1:5/backoffice",
    "BACKOFFICE_EMBEDDED_DATABASE": "1",
    "REDIS_URL": "redis://:pw@127.0.0.1:6/0",
    "S3_ENDPOINT_URL": "http://127.0.0.1:7",
    "AWS_ACCESS_KEY_ID": "key",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_REGION": "us-east-1",
    "S3_BUCKET": "backoffice",
    "SECRET_KEY": "s",
    "FIELD_KEY": "f",
}


@pytest.fixture(autouse=True)
def _no_servers_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in EMBEDDED:
        monkeypatch.delenv(name, raising=False)


def test_a_folder_without_a_stack_gives_nothing(tmp_path: Path) -> None:
    assert state.read(tmp_path) == {}
    assert state.read(tmp_path / "missing") == {}


def test_what_was_written_is_read_and_is_its_owners_only(tmp_path: Path) -> None:
    state.write(tmp_path, EMBEDDED)
    assert state.read(tmp_path) == EMBEDDED
    assert stat.S_IMODE((tmp_path / "environment.json").stat().st_mode) == 0o600


def test_secrets_are_made_once_and_are_their_owners_only(tmp_path: Path) -> None:
    first = state.stored_secrets(tmp_path)
    assert state.stored_secrets(tmp_path) == first
    assert stat.S_IMODE((tmp_path / "secrets.json").stat().st_mode) == 0o600
    assert len(set(first.values())) == len(first)
    Fernet(first["FIELD_KEY"].encode())


def test_lost_secrets_are_not_replaced_beside_a_database(tmp_path: Path) -> None:
    (tmp_path / "postgres").mkdir()
    with pytest.raises(StackProblem, match=r"secrets\.json is missing"):
        state.stored_secrets(tmp_path)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "environment.json").write_text("{")
    with pytest.raises(StackProblem, match=r"environment\.json cannot be read \(it is damaged\)"):
        state.read(tmp_path)


@pytest.mark.parametrize(
    ("own", "left_out"),
    [
        ("DATABASE_URL", {"DATABASE_URL", "DATABASE_OWNER_URL", "BACKOFFICE_EMBEDDED_DATABASE"}),
        ("REDIS_URL", {"REDIS_URL"}),
        (
            "S3_ENDPOINT_URL",
            {"S3_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "S3_BUCKET"},
        ),
    ],
)
def test_a_server_of_ones_own_takes_nothing_of_the_embedded_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: str, left_out: set[str]
) -> None:
    state.write(tmp_path, EMBEDDED)
    monkeypatch.setenv(own, "elsewhere")
    assert set(EMBEDDED) - set(state.read(tmp_path)) == left_out
    monkeypatch.setenv(own, EMBEDDED[own])
    assert state.read(tmp_path) == EMBEDDED


def test_a_servers_keys_come_with_its_address_and_ones_own_secret_key_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = {"AWS_ACCESS_KEY_ID": "somebody's cloud", "SECRET_KEY": "mine"}
    monkeypatch.setattr(state.os, "environ", environment)
    state.enter({**EMBEDDED, "DATABASE_SUPERUSER_URL": "never"})
    assert environment == {**EMBEDDED, "SECRET_KEY": "mine"}


def test_the_data_folder_is_named_by_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BACKOFFICE_DATA", str(tmp_path))
    assert state.folder() == tmp_path
    monkeypatch.delenv("BACKOFFICE_DATA")
    assert state.folder() == state.PROJECT / ".backoffice"
