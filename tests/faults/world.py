"""Servers and processes of its own for a fault run, and how to break and mend them."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from backoffice.stack import children, identity, postgres, valkey
from backoffice.stack.servers import Servers

PROJECT = Path(__file__).resolve().parents[2]
MINUTES_OFF = 300
# name: the command, and by how many seconds its clock is wrong
CREW: dict[str, tuple[tuple[str, ...], int]] = {
    "worker-1": (("manage.py", "worker", "interactive", "--stop-within", "1"), 0),
    "worker-2": (("manage.py", "worker", "interactive"), MINUTES_OFF),
    "worker-3": (("manage.py", "worker", "bulk"), -MINUTES_OFF),
    "scheduler-1": (("manage.py", "scheduler"), 0),
    "scheduler-2": (("manage.py", "scheduler"), MINUTES_OFF),
    "web": (("-m", "gunicorn", "--threads", "2", "backoffice.wsgi"), -MINUTES_OFF),
}


@dataclass
class World:
    """A folder with three servers, two of which get broken, and the product's processes on them."""

    folder: Path
    servers: Servers = field(init=False)
    crew: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    starts: int = 0
    port: int = 0

    def __post_init__(self) -> None:
        for name in ("effects", "calls"):
            (self.folder / name).touch()
        (self.folder / "done").mkdir()
        # Durable: a server that is stopped at once must still know what it confirmed.
        self.servers = Servers(self.folder / "servers", durable=True, s3=False)

    def open(self) -> None:
        """Start the servers and name them to this process and to all that it starts."""
        for name in ("DATABASE_URL", "DATABASE_OWNER_URL", "REDIS_URL", "S3_ENDPOINT_URL"):
            os.environ.pop(name, None)
        os.environ["BACKOFFICE_DATA"] = str(self.folder / "servers")
        os.environ.update(self.servers.start())
        os.environ["FAULTS_FOLDER"] = str(self.folder)
        os.environ["DJANGO_SETTINGS_MODULE"] = "tests.faults.settings"
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]

    def keep(self) -> None:
        """Start what does not run, as a supervisor does."""
        for name, (command, shift) in CREW.items():
            process = self.crew.get(name)
            if process is None or process.poll() is not None:
                self.crew[name] = self._start(name, command, shift)
                self.starts += 1

    def _start(self, name: str, command: tuple[str, ...], shift: int) -> subprocess.Popen[bytes]:
        me = os.getpid()
        bound = ("-b", f"127.0.0.1:{self.port}") if name == "web" else ()
        with (self.folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, *command, *bound],
                cwd=PROJECT,
                env={**os.environ, "FAULTS_CLOCK_SHIFT": str(shift)},
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=lambda: children.die_with(me),
            )

    def send(self, name: str, sent: signal.Signals) -> None:
        """Send the process a signal, if it still runs."""
        process = self.crew[name]
        if process.poll() is None:
            process.send_signal(sent)

    def horse(self, name: str) -> int | None:
        """Return the work-horse of a worker, if it has one now."""
        process = self.crew[name]
        with contextlib.suppress(OSError):
            found = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            return int(found[0]) if found else None
        return None

    def restart_valkey_empty(self) -> None:
        """Kill the broker and give it back with nothing in it."""
        self._end("valkey", signal.SIGKILL)
        for kept in (self.servers.data / "valkey").iterdir():
            if kept.is_dir():
                shutil.rmtree(kept)
        place = self._place("valkey")
        started = valkey.start(place, self.servers.ports, self.servers.secrets, durable=True)
        self.servers.running["valkey"] = started
        self._wait(lambda: valkey.is_ready(self.servers.secrets, self.servers.ports["valkey"]))

    def restart_postgres(self) -> None:
        """Have the database stop at once, whatever it is doing, and recover."""
        self._end("postgres", signal.SIGQUIT)
        self.servers.running["postgres"] = postgres.start(self._place("postgres"), self.servers.ports)
        self._wait(lambda: postgres.is_ready(self.servers.data / "postgres"))

    def _end(self, name: str, sent: signal.Signals) -> None:
        process = self.servers.running[name]
        process.send_signal(sent)
        process.wait(20)

    def _place(self, name: str) -> children.Place:
        return children.Place(
            self.servers.data / name, self.servers.data / "logs" / f"{name}.log", as_who=identity.choose()
        )

    def _wait(self, true: Any) -> None:
        until = time.monotonic() + 60
        while not true():
            if time.monotonic() > until:
                raise TimeoutError("a server did not come back")
            time.sleep(0.02)

    def close(self) -> None:
        """Stop everything."""
        for name, process in self.crew.items():
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.send_signal(signal.SIGKILL if name == "web" else signal.SIGTERM)
        for process in self.crew.values():
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.servers.stop()
