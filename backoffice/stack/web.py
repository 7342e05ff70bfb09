"""How gunicorn serves the product in `manage.py up`; a production install brings its own settings.

The listening socket comes from `up`, which opened it first: a used port is found at once, and
while the web server is restarted, people wait instead of being turned away.

The arbiter also prepares the database. It is the one process that has Django loaded by then:
loading takes longer than all else, so `up` does not do it a second time.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from backoffice.stack import children, content, state
from backoffice.stack.problems import StackProblem

wsgi_app = "backoffice.wsgi:application"
worker_class = "gthread"
workers = 2
threads = 4
# Loaded once, before the workers are forked: on a laptop that halves the time to the first page.
preload_app = True
timeout = 60
graceful_timeout = 8
control_socket_disable = True
worker_tmp_dir = "/dev/shm" if os.path.isdir("/dev/shm") else None  # noqa: S108 - a heartbeat, nothing to read


def on_starting(server: Any) -> None:
    """Prepare the database once `up` closes the gate's other end, and report before anything is served.

    The application is loaded by now, beside the servers' own start. A restart finds all prepared.
    """
    gate, report = os.environ.pop("BACKOFFICE_GATE", None), os.environ.pop("BACKOFFICE_REPORT", None)
    if gate is None or report is None:
        return
    os.read(int(gate), 1)
    os.close(int(gate))
    with open(int(report), "w", encoding="utf-8") as out:
        try:
            json.dump({"accounts": content.prepare(state.folder())}, out)
        except StackProblem as problem:
            json.dump({"problem": str(problem)}, out)
            sys.exit(1)


def post_fork(server: Any, worker: Any) -> None:
    """Have a worker die with its arbiter."""
    children.die_with(server.pid)
