"""`manage.py up`: the servers, then the database's content, then the product, until it is stopped.

It runs before Django reads its settings, since the settings name the servers started here.
Exit status: 0 stopped as asked, 1 something failed while running, 2 it could not start.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType

from backoffice.stack import children, state
from backoffice.stack.crew import Crew
from backoffice.stack.ports import LOOPBACK
from backoffice.stack.problems import StackProblem
from backoffice.stack.servers import Servers

SIGN_IN = "/sign-in/"
FIRST_PAGE_WITHIN = 60.0


class Stopped(BaseException):
    """Unwind to the stopping part, from wherever a signal was received."""


def main(argv: Sequence[str]) -> None:
    """Run everything until a signal, and exit."""
    options = parser().parse_args(argv)
    try:
        with _signals():
            status = _run(options)
    except StackProblem as problem:
        _complain(str(problem))
        status = 2
    except OSError as problem:
        _complain(f"{problem.strerror or problem}: {problem.filename or 'the system refused'}.")
        status = 2
    sys.stdout.flush()
    sys.exit(status)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command's options."""
    found = argparse.ArgumentParser(
        prog="manage.py up",
        description="Start PostgreSQL, Valkey, the object storage and the product. Ctrl-C stops all of it. "
        "DATABASE_URL, REDIS_URL and S3_ENDPOINT_URL name servers of your own, which are then used instead.",
    )
    add_options(found)
    return found


def add_options(found: argparse.ArgumentParser) -> None:
    """Add the command's options to a parser."""
    found.add_argument("--port", type=_port, default=8000, help="the web server's port on 127.0.0.1 (default 8000)")
    found.add_argument("--data", type=Path, help="the data folder (default .backoffice, or BACKOFFICE_DATA)")
    found.add_argument("--demo", action="store_true", help="make the demo people in a DATABASE_URL of your own too")
    found.add_argument("--check", action="store_true", help="start, prove that it works, stop, and print the seconds")


def _run(options: argparse.Namespace) -> int:
    data = (options.data or state.folder()).absolute()
    servers = Servers(
        data,
        postgres=not os.environ.get("DATABASE_URL"),
        valkey=not os.environ.get("REDIS_URL"),
        s3=not os.environ.get("S3_ENDPOINT_URL"),
    )
    crew = Crew(data, say=_complain)
    failure: str | None = None
    measured: dict[str, float] = {}
    with _listen(options.port) as listener:
        try:
            os.environ["BACKOFFICE_DATA"] = str(data)
            os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backoffice.settings")
            servers.launch()
            _keep_bytecode(data)
            state.enter(servers.environment())
            os.environ.setdefault("PUBLIC_URL", f"http://{LOOPBACK}:{options.port}")
            if options.demo:
                os.environ["BACKOFFICE_DEMO"] = "1"
            accounts = _bring_up(servers, crew, listener)
            measured["ready_s"] = round(_age(), 1)
            crew.work()
            if options.check:
                from backoffice.stack import checking

                measured |= checking.check(crew)
            else:
                _announce(options.port, data, accounts, measured["ready_s"])
                while True:
                    servers.check_alive()
                    crew.tend(time.monotonic())
                    time.sleep(0.2)
        except Stopped:
            failure = "Stopped before the check was done." if options.check else None
        except StackProblem as problem:
            failure = str(problem)
            if not measured:
                raise
        finally:
            _ignore_signals()
            crew.stop()
            servers.stop()
    if failure:
        _complain(failure)
        return 1
    if options.check:
        print(json.dumps({**measured, "total_s": round(_age(), 1)}))
    else:
        print("Stopped.")
    return 0


def _bring_up(servers: Servers, crew: Crew, listener: socket.socket) -> str:
    """Start the web server, have it prepare the database, and return when the first page is served.

    It loads its code while the other servers start.
    """
    preparation = crew.serve(listener.fileno())
    servers.wait()
    preparation.begin()
    log = crew.logs / "web.log"
    while not preparation.done():
        servers.check_alive()
    try:
        accounts = preparation.accounts()
    except StackProblem as problem:
        raise StackProblem(f"{problem} See {log}.") from None
    until = time.monotonic() + FIRST_PAGE_WITHIN
    port = int(listener.getsockname()[1])
    while True:
        servers.check_alive()
        if crew.has_ended("web"):
            raise StackProblem(f"The web server could not start; the last line of {log}: {children.last_line(log)}")
        status = _fetch(port)
        if status == 200:
            return accounts
        if status >= 500 or time.monotonic() > until:
            raise StackProblem(f"The sign-in page answers {status or 'nothing'}; see {log}.")
        time.sleep(0.02)


def _keep_bytecode(data: Path) -> None:
    """Keep compiled code in the data folder where the environment forbids it beside the sources.

    Without it each of the processes compiles everything again at every start, which takes longer
    than all else together.
    """
    if sys.dont_write_bytecode:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix = str(data / "bytecode")
        sys.dont_write_bytecode = False


def _fetch(port: int) -> int:
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=5)
    try:
        connection.request("GET", SIGN_IN)
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()


def _listen(port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOOPBACK, port))
        listener.listen(128)
    except OSError as problem:
        listener.close()
        raise StackProblem(
            f"Port {port} cannot be used ({problem.strerror}); stop what uses it, or choose another with --port."
        ) from problem
    return listener


def _announce(port: int, data: Path, accounts: str, ready: float) -> None:
    print(f"\nBackoffice is ready after {ready} s:  http://{LOOPBACK}:{port}/\n")
    if accounts:
        print(f"{accounts.strip()}\n")
    if data != state.PROJECT / ".backoffice":
        print(f"Other commands find this data folder by BACKOFFICE_DATA={data}\n")
    print(f"Data  {data}\nLogs  {data / 'logs'}\nStop  Ctrl-C", flush=True)


def _complain(sentence: str) -> None:
    print(f"up: {sentence}", file=sys.stderr, flush=True)


def _port(text: str) -> int:
    port = int(text)
    if not 0 < port < 65536:
        raise argparse.ArgumentTypeError("a port is a number from 1 to 65535")
    return port


def _age() -> float:
    """Return the seconds since this process was started, its own loading included."""
    with contextlib.suppress(OSError):
        fields = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return time.process_time()


@contextlib.contextmanager
def _signals() -> Iterator[None]:
    """Turn the signals that ask for an end into Stopped, once."""

    def stop(number: int, frame: FrameType | None) -> None:
        _ignore_signals()
        raise Stopped

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    # `uv run` waits as our parent; when it is killed, nobody could stop this any more.
    parent = os.getppid()
    with contextlib.suppress(OSError):
        if Path(f"/proc/{parent}/comm").read_text(encoding="utf-8").strip() == "uv":
            children.die_with(parent, signal.SIGTERM)
    try:
        yield
    except Stopped:
        sys.exit(0)


def _ignore_signals() -> None:
    """Finish stopping whatever else is asked: each step has its own limit."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
