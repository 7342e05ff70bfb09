"""The embedded Valkey, which carries job ids to the workers."""

from __future__ import annotations

import signal
import socket
import subprocess
from collections.abc import Mapping

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
    place: children.Place, ports: Mapping[str, int], secrets: Mapping[str, str], *, durable: bool
) -> subprocess.Popen[bytes]:
    """Write the configuration and start the server."""
    place.folder.mkdir(mode=0o700, exist_ok=True)
    configuration = place.folder / "valkey.conf"
    configuration.touch(mode=0o600)
    content = CONFIGURATION.format(
        port=ports["valkey"],
        password=secrets["valkey"],
        folder=place.folder,
        sync="everysec" if durable else "no",
    )
    configuration.write_text(content, encoding="utf-8")
    for owned in (place.folder, configuration):
        identity.hand_over(owned, place.as_who)
    return children.spawn([binaries.valkey(), configuration], place, environment={"LC_ALL": "C", "TZ": "UTC"})


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
