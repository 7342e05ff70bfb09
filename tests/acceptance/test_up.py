"""`manage.py up` as a person runs it: one command, from an empty folder to the sign-in page and back."""

from __future__ import annotations

import http.client
import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from backoffice.stack import ports, signing, state

OURS = {"DATABASE_SUPERUSER_URL", "SECRET_KEY", "FIELD_KEY", "BACKOFFICE_DATA", "BACKOFFICE_DEMO"}
OURS |= {name for address, names in state.BELONGINGS.items() for name in (address, *names)}


class Up:
    """One run of the command in a folder, and all processes that belong to the folder."""

    def __init__(self, data: Path, port: int, **own: str) -> None:
        self.data, self.port = data, port
        self.out, self.err = data.parent / "out", data.parent / "err"
        with self.out.open("w") as out, self.err.open("w") as err:
            self.process = subprocess.Popen(
                command(data, port), env=environment() | own, stdout=out, stderr=err, start_new_session=True
            )

    def wait_until_ready(self) -> Up:
        wait(lambda: "Stop  Ctrl-C" in self.out.read_text() or self.process.poll() is not None, within=120)
        assert self.process.poll() is None, self.err.read_text()
        return self

    def stop(self, sent: int = signal.SIGTERM, *, group: bool = False) -> int:
        (os.killpg if group else os.kill)(self.process.pid, sent)
        return self.process.wait(timeout=60)


def command(data: Path, port: int, *options: str) -> list[str]:
    manage = str(state.PROJECT / "manage.py")
    return [sys.executable, manage, "up", "--data", str(data), "--port", str(port), *options]


def environment() -> dict[str, str]:
    """Return this environment without the servers that the test run itself uses."""
    return {name: value for name, value in os.environ.items() if name not in OURS}


def known(data: Path) -> dict[str, str]:
    """Return what the folder tells other processes."""
    return json.loads((data / "environment.json").read_text())


def free_port() -> int:
    return ports.choose(("web",), last={})["web"]


def wait(for_it: Callable[[], object], *, within: float = 20) -> None:
    until = time.monotonic() + within
    while not for_it():
        assert time.monotonic() < until, "this took too long"
        time.sleep(0.05)


def processes(data: Path) -> dict[int, str]:
    """Return the running processes that work in the folder or were told of it: id and command line.

    A zombie has neither a folder nor an environment: it no longer runs.
    """
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            works_there = (entry / "cwd").readlink().is_relative_to(data)
            told = f"BACKOFFICE_DATA={data}\0".encode() in (entry / "environ").read_bytes()
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
        except OSError:
            continue
        if works_there or told or f" --data {data} " in f"{line} ":
            found[int(entry.name)] = line
    return found


def parent_of(number: int) -> int:
    """Return the process's parent, 0 when it has ended."""
    try:
        return int(Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def get(port: int, path: str) -> int:
    connection = http.client.HTTPConnection(ports.LOOPBACK, port, timeout=10)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """Start the command once for the tests that leave it running."""
    running = Up(tmp_path_factory.mktemp("up") / "data", free_port())
    try:
        yield running.wait_until_ready()
    finally:
        if running.process.poll() is None:
            running.stop()


def test_the_first_start_serves_the_sign_in_page_and_says_where(up: Up) -> None:
    assert get(up.port, "/sign-in/") == 200
    said = up.out.read_text()
    assert f"http://127.0.0.1:{up.port}/" in said
    assert up.err.read_text() == ""
    names = (
        "gunicorn",
        "worker interactive",
        "worker bulk",
        "scheduler",
        "valkey-server",
        " mini -master",
        "postgres -D",
    )
    lines = " | ".join(processes(up.data).values())
    assert [name for name in names if name not in lines] == []


def test_it_tells_the_demo_accounts_and_how_to_get_a_code(up: Up) -> None:
    said = up.out.read_text()
    assert "manage.py demo" in said


def test_everything_that_listens_is_on_the_loopback_address(up: Up) -> None:
    inodes = set()
    for number in processes(up.data):
        for descriptor in Path(f"/proc/{number}/fd").iterdir():
            try:
                target = os.readlink(descriptor)
            except OSError:
                continue
            if target.startswith("socket:["):
                inodes.add(target[8:-1])
    listening = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        rows = Path(table).read_text().splitlines()[1:] if Path(table).exists() else []
        fields = [row.split() for row in rows]
        listening += [row[1].split(":")[0] for row in fields if row[3] == "0A" and row[9] in inodes]
    assert len(listening) >= 4
    assert set(listening) == {"0100007F"}


def test_passwords_and_data_are_their_owners_only(up: Up) -> None:
    assert stat.S_IMODE(up.data.stat().st_mode) == 0o700
    for name in ("secrets.json", "environment.json", "valkey/valkey.conf", "s3/s3.json", "s3/security.toml"):
        assert stat.S_IMODE((up.data / name).stat().st_mode) == 0o600, name


def test_another_shell_finds_the_stack_and_no_login_is_a_superuser(up: Up) -> None:
    found = known(up.data)
    for address, user in (("DATABASE_URL", "backoffice_app"), ("DATABASE_OWNER_URL", "backoffice_owner")):
        with psycopg.connect(found[address]) as connection:
            row = connection.execute(
                "SELECT rolname, rolsuper, rolbypassrls FROM pg_roles WHERE rolname = session_user"
            ).fetchone()
            assert row == (user, False, False)
    with psycopg.connect(found["DATABASE_URL"]) as connection:
        connection.execute("SET LOCAL ROLE backoffice_reporting")
    wrong = found["DATABASE_URL"].replace(":" + found["DATABASE_URL"].split(":")[2].split("@")[0], ":guessed")
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(wrong)


def test_a_second_copy_on_the_folder_is_one_sentence(up: Up) -> None:
    refused(command(up.data, free_port()), f"already running on the data folder {up.data} (process {up.process.pid})")


def test_a_used_port_is_one_sentence(up: Up, tmp_path: Path) -> None:
    refused(command(tmp_path / "data", up.port), f"Port {up.port} cannot be used (Address already in use)")


def test_servers_of_ones_own_are_used_and_not_started(up: Up, tmp_path: Path) -> None:
    own = known(up.data)
    for never in ("BACKOFFICE_EMBEDDED_DATABASE", "SECRET_KEY", "FIELD_KEY"):
        own.pop(never)
    other = Up(tmp_path / "data", free_port(), **own).wait_until_ready()
    try:
        lines = " | ".join(processes(other.data).values())
        assert [name for name in ("valkey-server", " mini -master", "postgres -D") if name in lines] == []
        assert set(known(other.data)) == {"SECRET_KEY", "FIELD_KEY"}
        # Demo people belong in the embedded database only, unless --demo asks for them.
        assert "manage.py demo" not in other.out.read_text()
    finally:
        assert other.stop() == 0


def test_a_database_that_does_not_answer_is_one_sentence(tmp_path: Path) -> None:
    nowhere = f"postgresql://somebody:secret@127.0.0.1:{free_port()}/nothing"
    refused(command(tmp_path / "data", free_port()), "The database could not be prepared", DATABASE_URL=nowhere)


def test_a_worker_that_dies_is_started_again_and_said(up: Up) -> None:
    def worker() -> list[int]:
        """Return the worker; the work-horses that stand by are its children and share its command line."""
        found = [number for number, line in processes(up.data).items() if line.endswith("worker bulk")]
        return [number for number in found if parent_of(number) not in found]

    wait(worker)
    (first,) = worker()
    os.kill(first, signal.SIGKILL)
    wait(lambda: "worker-bulk ended (status -9) and starts again in 1 s" in up.err.read_text())
    wait(lambda: worker() and first not in worker())


def test_a_term_signal_stops_everything_and_the_next_start_keeps_the_data(up: Up) -> None:
    found = known(up.data)
    secrets = state.stored_secrets(up.data)
    with psycopg.connect(found["DATABASE_OWNER_URL"]) as connection:
        connection.execute("CREATE TABLE kept (word text)")
        connection.execute("INSERT INTO kept VALUES ('still here')")
    thing = {"endpoint": found["S3_ENDPOINT_URL"], "secrets": secrets, "path": "/backoffice/kept"}
    assert signing.send(method="PUT", body=b"still here", **thing)[0] == 200

    assert up.stop() == 0
    assert processes(up.data) == {}
    assert up.out.read_text().endswith("Stopped.\n")

    again = Up(up.data, up.port)
    try:
        again.wait_until_ready()
        assert known(up.data) == found
        with psycopg.connect(found["DATABASE_OWNER_URL"]) as connection:
            assert connection.execute("TABLE kept").fetchall() == [("still here",)]
        assert signing.send(method="GET", **thing) == (200, b"still here")
    finally:
        again.stop(group=True)
    assert processes(up.data) == {}


def test_a_killed_command_leaves_no_process_and_the_next_start_recovers(up: Up) -> None:
    running = Up(up.data, up.port).wait_until_ready()
    assert len(processes(up.data)) > 10
    running.stop(signal.SIGKILL)
    wait(lambda: processes(up.data) == {}, within=10)

    again = Up(up.data, up.port).wait_until_ready()
    assert get(up.port, "/sign-in/") == 200

    (server,) = [number for number, line in processes(up.data).items() if "bin/postgres -D" in line]
    os.kill(server, signal.SIGQUIT)
    assert again.process.wait(timeout=60) == 1
    assert one_line(again.err.read_text()).startswith("up: PostgreSQL ended unexpectedly")
    wait(lambda: processes(up.data) == {})


def test_the_check_proves_a_whole_round_and_prints_the_seconds(up: Up) -> None:
    done = subprocess.run(
        command(up.data, free_port(), "--check"), env=environment(), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert {"ready_s", "job_s", "total_s"} <= set(json.loads(done.stdout.splitlines()[-1]))
    assert processes(up.data) == {}


def test_a_folder_of_another_version_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "FORMAT").write_text("0")
    refused(command(tmp_path, free_port()), "was made by another version of Backoffice (format 0, this one reads 1)")


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    refused(command(tmp_path / "file" / "data", free_port()), "cannot be written to (Not a directory)")


def test_a_disk_without_room_is_one_sentence(tmp_path: Path) -> None:
    full = "import sys; from backoffice.stack import launch, taking; taking.free_bytes = lambda data: 12_000_000;"
    full += "launch.main(sys.argv[1:])"
    options = ["--data", str(tmp_path), "--port", str(free_port())]
    refused([sys.executable, "-c", full, *options], "has 12 MB left, and at least 500 MB are needed")


def refused(run: list[str], because: str, **own: str) -> None:
    """Run a command that cannot start: status 2, one sentence, nothing else, nothing left running."""
    done = subprocess.run(
        run, env=environment() | own, cwd=state.PROJECT, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert because in one_line(done.stderr)


def one_line(text: str) -> str:
    assert text.count("\n") == 1, text
    return text
