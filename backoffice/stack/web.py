"""How gunicorn serves the product in `manage.py up`; a production install brings its own settings.

The listening socket comes from `up`, which opened it first: a used port is found at once, and
while the web server is restarted, people wait instead of being turned away.
"""

from __future__ import annotations

import os
import select
from typing import Any

from backoffice.stack import children

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


def post_fork(server: Any, worker: Any) -> None:
    """Have a worker die with its arbiter."""
    children.die_with(server.pid)


def post_worker_init(worker: Any) -> None:
    """Serve nothing until `up` has migrated the database: it then closes the gate's other end."""
    gate = os.environ.get("BACKOFFICE_GATE")
    if gate:
        while worker.alive and not select.select([int(gate)], [], [], 1)[0]:
            worker.notify()
