"""What a data folder knows of its stack: its secrets, its ports and the environment it gives.

Only the standard library is imported here, because the settings read this file before Django runs.

- `FORMAT`            the version of this layout
- `secrets.json`      made once, mode 0600
- `ports.json`        the ports used last, tried again first
- `environment.json`  what the stack last started gives to other processes, mode 0600
- `lock`              held by the running stack
"""

from __future__ import annotations

import base64
import json
import os
import secrets
from pathlib import Path
from typing import Any

from backoffice.stack.problems import StackProblem

FORMAT = "1"
BUCKET = "backoffice"
BELONGINGS = {
    "DATABASE_URL": ("DATABASE_OWNER_URL", "BACKOFFICE_EMBEDDED_DATABASE"),
    "REDIS_URL": (),
    "S3_ENDPOINT_URL": ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "S3_BUCKET"),
}
PROJECT = Path(__file__).resolve().parent.parent.parent


def folder() -> Path:
    """Return the data folder: BACKOFFICE_DATA, or `.backoffice` beside manage.py."""
    named = os.environ.get("BACKOFFICE_DATA")
    return Path(named).absolute() if named else PROJECT / ".backoffice"


def read(data: Path) -> dict[str, str]:
    """Return the environment of the stack last started in this folder, or {} when there is none.

    What belongs to a server that this process's environment replaces is left out: the embedded
    database's owner must not migrate a database of the person's own, nor its demo be made there.
    """
    known = {str(key): str(value) for key, value in _load(data / "environment.json").items()}
    for address, belongings in BELONGINGS.items():
        own = os.environ.get(address)
        if own and own != known.get(address):
            for name in (address, *belongings):
                known.pop(name, None)
    return known


def enter(environment: dict[str, str]) -> None:
    """Put a stack's environment into this process's own.

    A key of the person's own wins, but what belongs to a server comes with its address: somebody's
    cloud keys, which happen to be set, do not open the embedded storage.
    """
    together = {name for address, names in BELONGINGS.items() for name in (address, *names)}
    for name, value in environment.items():
        if name in together:
            os.environ[name] = value
        elif name != "DATABASE_SUPERUSER_URL":
            os.environ.setdefault(name, value)


def write(data: Path, environment: dict[str, str]) -> None:
    """Record what other processes need to find the running stack."""
    _save(data / "environment.json", environment)


def stored_secrets(data: Path) -> dict[str, str]:
    """Return the folder's secrets; make and keep them on the first call.

    They are hexadecimal, so that they stand in a URL, a configuration file or SQL as they are.
    FIELD_KEY is a Fernet key.
    """
    known = _load(data / "secrets.json")
    if not known:
        if (data / "postgres").exists():
            raise StackProblem(
                f"{data / 'secrets.json'} is missing, and without it the data in {data} cannot be "
                "opened; restore it or choose another folder with --data."
            )
        names = ("superuser", "owner", "app", "valkey", "s3_secret", "volume_jwt", "filer_jwt", "filer_read_jwt")
        known = {name: secrets.token_hex(24) for name in names}
        known["s3_key"] = secrets.token_hex(10).upper()
        known["SECRET_KEY"] = secrets.token_hex(32)
        known["FIELD_KEY"] = base64.urlsafe_b64encode(os.urandom(32)).decode()
        _save(data / "secrets.json", known)
    return known


def last_ports(data: Path) -> dict[str, int]:
    """Return the ports that the stack used last, by name."""
    return _load(data / "ports.json")


def keep_ports(data: Path, ports: dict[str, int]) -> None:
    """Record the ports in use, so that the next start can have the same addresses."""
    _save(data / "ports.json", ports)


def _load(file: Path) -> dict[str, Any]:
    try:
        loaded = json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as problem:
        raise StackProblem(f"{file} cannot be read ({_reason(problem)}).") from problem
    return loaded if isinstance(loaded, dict) else {}


def _save(file: Path, content: dict[str, Any]) -> None:
    """Replace the file in one step: a reader sees the old content or the new, never a part."""
    part = file.with_name(f".{file.name}.{os.getpid()}")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "w", encoding="utf-8") as out:
        json.dump(content, out, indent=1, sort_keys=True)
        out.flush()
        os.fsync(out.fileno())
    os.replace(part, file)


def _reason(problem: Exception) -> str:
    return getattr(problem, "strerror", None) or "it is damaged"
