"""The embedded PostgreSQL: its cluster, its configuration and its three roles."""

from __future__ import annotations

import contextlib
import shutil
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from backoffice.stack import binaries, children, identity
from backoffice.stack.ports import LOOPBACK
from backoffice.stack.problems import StackProblem

DATABASE = "backoffice"
OWNER, APP, REPORTING = "backoffice_owner", "backoffice_app", "backoffice_reporting"
PORTS = ("postgres",)
STOP_SIGNAL = signal.SIGINT  # the fast shutdown: open sessions are ended, nothing is lost
ENVIRONMENT = {"LC_ALL": "C", "TZ": "UTC", "PATH": "/usr/bin:/bin"}

# wal_level and max_wal_senders: nothing replicates from a laptop, so less is written.
# unix_socket_directories: a data folder's path is easily longer than a socket's may be.
CONFIGURATION = """\
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 200
shared_buffers = 256MB
dynamic_shared_memory_type = posix
wal_level = minimal
max_wal_senders = 0
min_wal_size = 80MB
max_wal_size = 1GB
jit = off
timezone = 'UTC'
log_timezone = 'UTC'
lc_messages = 'C'
lc_monetary = 'C.UTF-8'
lc_numeric = 'C.UTF-8'
lc_time = 'C.UTF-8'
default_text_search_config = 'pg_catalog.english'
log_line_prefix = '%m [%p] %q%u %a '
"""
NOT_DURABLE = """\
fsync = off
synchronous_commit = off
full_page_writes = off
"""


def url(user: str, password: str, port: int, database: str = DATABASE) -> str:
    """Return the address of the database for this login."""
    return f"postgresql://{user}:{password}@{LOOPBACK}:{port}/{database}"


def prepare(place: children.Place, secrets: Mapping[str, str], *, durable: bool) -> None:
    """Make the cluster on the first start, and write its configuration on every start.

    The cluster is made beside its place and moved there whole: a start that was interrupted
    leaves nothing that looks like a database.
    """
    folder, as_who = place.folder, place.as_who
    if not (folder / "PG_VERSION").exists():
        part = folder.with_name(folder.name + ".part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(mode=0o700)
        password = part.with_name(".superuser")
        password.write_text(secrets["superuser"], encoding="ascii")
        password.chmod(0o600)
        try:
            identity.hand_over(part, as_who)
            identity.hand_over(password, as_who)
            _initdb(part, password, place)
        finally:
            password.unlink()
        part.rename(folder)
    identity.hand_over(folder, as_who)
    _write(folder / "postgresql.conf", CONFIGURATION + ("" if durable else NOT_DURABLE), as_who)
    _write(folder / "pg_hba.conf", f"host all all {LOOPBACK}/32 scram-sha-256\n", as_who)
    _forget_a_dead_postmaster(folder)


def start(place: children.Place, ports: Mapping[str, int]) -> subprocess.Popen[bytes]:
    """Start the server."""
    command: list[str | Path] = [binaries.postgres("postgres"), "-D", place.folder]
    command += ["-p", str(ports["postgres"])]
    return children.spawn(command, place, environment=ENVIRONMENT)


def is_ready(folder: Path) -> bool:
    """Say whether the server takes connections: what pg_ctl reads, the file's eighth line."""
    with contextlib.suppress(OSError, IndexError):
        return (folder / "postmaster.pid").read_text(encoding="utf-8").splitlines()[7].strip() == "ready"
    return False


def create_roles(secrets: Mapping[str, str], port: int) -> None:
    """Create the roles and then the database, once; the database's presence says that all is done.

    None of the three is a superuser. What the owner creates, the app may use, in every database
    made from the template; the reporting role is taken by SET ROLE and inherits nothing.
    """
    # Not at the top of the file: loading it takes time in which the servers can already start.
    import psycopg
    from psycopg import sql

    superuser = url("postgres", secrets["superuser"], port, "postgres")
    with psycopg.connect(superuser, autocommit=True) as connection:
        if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone():
            return
        known = {row[0] for row in connection.execute("SELECT rolname FROM pg_roles")}
        for role, password in ((OWNER, secrets["owner"]), (APP, secrets["app"])):
            if role not in known:
                create = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}")
                connection.execute(create.format(sql.Identifier(role), sql.Literal(password)))
        if REPORTING not in known:
            connection.execute(f"CREATE ROLE {REPORTING} NOLOGIN")
        connection.execute(f"GRANT {REPORTING} TO {APP} WITH INHERIT FALSE, SET TRUE")
        with psycopg.connect(url("postgres", secrets["superuser"], port, "template1"), autocommit=True) as template:
            for granted in (
                "SELECT, INSERT, UPDATE, DELETE ON TABLES",
                "USAGE, SELECT ON SEQUENCES",
            ):
                template.execute(f"ALTER DEFAULT PRIVILEGES FOR ROLE {OWNER} GRANT {granted} TO {APP}")
        connection.execute(f"CREATE DATABASE {DATABASE} OWNER {OWNER}")


def _initdb(folder: Path, password: Path, place: children.Place) -> None:
    command: list[str | Path] = [binaries.postgres("initdb"), "-D", folder, "-U", "postgres", "--pwfile", password]
    command += ["--auth=scram-sha-256", "--encoding=UTF8", "--locale-provider=builtin", "--locale=C.UTF-8"]
    # Nothing is worth a wait for the disk before the first row is written.
    command += ["--no-sync", "--no-instructions"]
    made = children.spawn(command, replace(place, folder=folder), environment=ENVIRONMENT)
    if made.wait() != 0:
        said = children.last_line(place.log)
        raise StackProblem(f"PostgreSQL could not make its database: {said} (see {place.log}).")


def _write(file: Path, content: str, as_who: identity.Kind) -> None:
    if not file.exists() or file.read_text(encoding="utf-8") != content:
        file.write_text(content, encoding="utf-8")
        file.chmod(0o600)
        identity.hand_over(file, as_who)


def _forget_a_dead_postmaster(folder: Path) -> None:
    """Remove the id file of a server that was killed when its number now belongs to something else.

    PostgreSQL would refuse to start. Where the files are still in use, its shared memory says so.
    """
    file = folder / "postmaster.pid"
    with contextlib.suppress(OSError, IndexError):
        number = file.read_text(encoding="utf-8").splitlines()[0].strip()
        running = Path(f"/proc/{number}/cmdline")
        if Path("/proc/self").exists() and not (running.exists() and str(folder).encode() in running.read_bytes()):
            file.unlink()
