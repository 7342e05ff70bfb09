"""The embedded Valkey, which carries job ids to the workers."""

from __future__ import annotations

import signal
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path

from backoffice.stack import binaries, children, identity
from backoffice.stack.ports import LOOPBACK

PORTS = ("valkey",)
STOP_SIGNAL = signal.SIGTERM

# noeviction: a job's id must never be dropped to make room for another.
CONFIGURATION = """\
bind 127.0.0.1
port {port}
protected-mode yes
requirepass {password}
daemonize no
dir "{folder}"
appendonly yes
appendfsync {sync}
save ""
maxmemory-policy noeviction
databases 16
"""


def url(secrets: Mapping[str, str], port: int) -> str:
    """Return the address with its password."""
    return f"redis://:{secrets['valkey']}@{LOOPBACK}:{port}/0"


def start(
    folder: Path,
    ports: Mapping[str, int],
    secrets: Mapping[str, str],
    *,
    log: Path,
    as_who: identity.Kind,
    durable: bool,
) -> subprocess.Popen[bytes]:
    """Write the configuration and start the server."""
    folder.mkdir(mode=0o700, exist_ok=True)
    configuration = folder / "valkey.conf"
    configuration.touch(mode=0o600)
    configuration.write_text(
        CONFIGURATION.format(
            port=ports["valkey"],
            password=secrets["valkey"],
            folder=folder,
            sync="everysec" if durable else "no",
        ),
        encoding="utf-8",
    )
    identity.hand_over(folder, as_who)
    identity.hand_over(configuration, as_who)
    environment = {"LC_ALL": "C", "TZ": "UTC"}
    return children.spawn(
        [binaries.valkey(), configuration], environment=environment, folder=folder, log=log, as_who=as_who
    )


def is_ready(secrets: Mapping[str, str], port: int) -> bool:
    """Say whether the server answers a PING, with the append-only file loaded."""
    try:
        with socket.create_connection((LOOPBACK, port), timeout=1) as connection:
            connection.sendall(f"AUTH {secrets['valkey']}\r\nPING\r\n".encode())
            answer = b""
            while answer.count(b"\r\n") < 2:
                received = connection.recv(256)
                if not received:
                    break
                answer += received
    except OSError:
        return False
    return b"+PONG" in answer
