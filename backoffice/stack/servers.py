"""The three embedded servers of one data folder, started together and stopped together."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from backoffice.stack import children, identity, ports, postgres, s3, state, taking, valkey
from backoffice.stack.problems import StackProblem

START_WITHIN = 120.0  # a recovery after a crash may have much to read
STOP_WITHIN = 20.0
NAMES = {"postgres": "PostgreSQL", "valkey": "Valkey", "s3": "the object storage"}
SIGNALS = {"postgres": postgres.STOP_SIGNAL, "valkey": valkey.STOP_SIGNAL, "s3": s3.STOP_SIGNAL}


class Servers:
    """Run PostgreSQL, Valkey and S3 in a data folder, as children that die with this process.

    Used by `manage.py up` and by the tests. Start it in the main thread. A folder serves one at a
    time: a second raises StackProblem. `durable=False` trades safety for speed, for tests.
    """

    def __init__(
        self, data: Path, *, durable: bool = True, postgres: bool = True, valkey: bool = True, s3: bool = True
    ) -> None:
        self.data = Path(data).absolute()
        self.durable = durable
        self.wanted = {"postgres": postgres, "valkey": valkey, "s3": s3}
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.ports: dict[str, int] = {}
        self.secrets: dict[str, str] = {}
        self._lock: int | None = None

    def start(self) -> dict[str, str]:
        """Start all, wait until they answer, and return the environment that finds them."""
        try:
            self.launch()
            return self.wait()
        except BaseException:
            self.stop()
            raise

    def launch(self) -> None:
        """Start the processes without waiting for them; what they will be reached by is known after it."""
        self._lock = lock = taking.take(self.data)
        logs = self.data / "logs"
        logs.mkdir(mode=0o700, exist_ok=True)
        self.secrets = state.stored_secrets(self.data)
        self.ports = ports.choose(
            (*postgres.PORTS, *valkey.PORTS, *s3.PORTS), last=state.last_ports(self.data), beside=s3.BESIDE
        )
        state.keep_ports(self.data, self.ports)
        who = identity.choose() if any(self.wanted.values()) else "plain"

        def place(name: str) -> children.Place:
            return children.Place(self.data / name, logs / f"{name}.log", as_who=who, keep=(lock,))

        # The slowest first; PostgreSQL last, since making its cluster is waited for.
        if self.wanted["s3"]:
            self.running["s3"] = s3.start(place("s3"), self.ports, self.secrets)
        if self.wanted["valkey"]:
            self.running["valkey"] = valkey.start(place("valkey"), self.ports, self.secrets, durable=self.durable)
        if self.wanted["postgres"]:
            postgres.prepare(place("postgres"), self.secrets, durable=self.durable)
            self.running["postgres"] = postgres.start(place("postgres"), self.ports)

    def wait(self) -> dict[str, str]:
        """Wait until every started server answers, make the roles, and record the environment."""
        checks: dict[str, Callable[[], bool]] = {
            "postgres": lambda: postgres.is_ready(self.data / "postgres"),
            "valkey": lambda: valkey.is_ready(self.secrets, self.ports["valkey"]),
            "s3": lambda: s3.is_ready(self.secrets, self.ports["s3"]),
        }
        until = time.monotonic() + START_WITHIN
        for name in ("postgres", "valkey", "s3"):
            while name in self.running and not checks[name]():
                self.check_alive()
                if time.monotonic() > until:
                    raise StackProblem(
                        f"{NAMES[name]} did not answer within {START_WITHIN:.0f} seconds; see {self._log(name)}."
                    )
                time.sleep(0.02)
            if name == "postgres" and name in self.running:
                postgres.create_roles(self.secrets, self.ports["postgres"])
        environment = self.environment()
        kept = {name: value for name, value in environment.items() if name != "DATABASE_SUPERUSER_URL"}
        state.write(self.data, kept)
        return environment

    def environment(self) -> dict[str, str]:
        """Return what other processes need to reach the servers started here, and the folder's keys."""
        known = self.secrets
        found = {"SECRET_KEY": known["SECRET_KEY"], "FIELD_KEY": known["FIELD_KEY"]}
        if self.wanted["postgres"]:
            port = self.ports["postgres"]
            found["DATABASE_URL"] = postgres.url(postgres.APP, known["app"], port)
            found["DATABASE_OWNER_URL"] = postgres.url(postgres.OWNER, known["owner"], port)
            found["DATABASE_SUPERUSER_URL"] = postgres.url("postgres", known["superuser"], port, "postgres")
            found["BACKOFFICE_EMBEDDED_DATABASE"] = "1"
        if self.wanted["valkey"]:
            found["REDIS_URL"] = valkey.url(known, self.ports["valkey"])
        if self.wanted["s3"]:
            found["S3_ENDPOINT_URL"] = s3.url(self.ports["s3"])
            found["AWS_ACCESS_KEY_ID"] = known["s3_key"]
            found["AWS_SECRET_ACCESS_KEY"] = known["s3_secret"]
            found["AWS_REGION"] = s3.REGION
            found["S3_BUCKET"] = state.BUCKET
        return found

    def check_alive(self) -> None:
        """Raise StackProblem naming a server that has ended by itself."""
        for name, child in self.running.items():
            if children.ended(child):
                log = self._log(name)
                said = children.last_line(log)
                raise StackProblem(
                    f"{NAMES[name]} ended unexpectedly (status {child.returncode}); the last line of {log}: {said}"
                )

    def stop(self) -> None:
        """Stop what was started and wait for its end; calling it twice does no harm."""
        children.stop([(child, SIGNALS[name]) for name, child in self.running.items()], within=STOP_WITHIN)
        if "s3" in self.running:
            s3.forget_sockets(self.ports)
        self.running.clear()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _log(self, name: str) -> Path:
        return self.data / "logs" / f"{name}.log"

    def __enter__(self) -> Servers:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
