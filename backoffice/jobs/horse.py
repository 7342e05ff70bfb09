"""The work-horse: a forked process that runs one job and dies with its parent."""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import sys
from datetime import timedelta
from types import FrameType

import structlog
from django.db import connections

from backoffice.jobs import keeping, running
from backoffice.jobs.keeping import Held
from backoffice.jobs.relaying import Relay
from backoffice.jobs.running import Exit, Run

log = structlog.get_logger(__name__)

PR_SET_PDEATHSIG = 1
STOP = signal.SIGUSR1  # "stop between two steps", from the parent
LATER = timedelta(seconds=5)  # after the deadline, should the parent be unable to end this process
_libc = ctypes.CDLL(None, use_errno=True)

_asked_to_stop = False


def run(*, parent: int, shared: list[int], relay: Relay) -> None:
    """Wait for the run that the parent names, do it, and leave the process. Called straight after the fork.

    `shared` are the parent's descriptors: they lead nowhere from here on, so that nothing this
    process does or forgets can speak on the parent's connections.
    """
    status = int(Exit.UNRECORDED)
    held: Held | None = None
    try:
        _settle_in(parent=parent, shared=shared)
        relay.for_horse()
        held = relay.horse.recv()
        _bound(held)
        one = Run(job=held.job, steps=held.steps, asked_to_stop=lambda: _asked_to_stop, wire=relay)
        status = int(running.work(one))
        logging.shutdown()
    except BaseException:
        if held is not None:  # else the parent had nothing for it, and hung up
            log.exception("job.horse-failed", job=held.job.pk, fence=held.job.fence)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _settle_in(*, parent: int, shared: list[int]) -> None:
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(int(Exit.UNRECORDED))  # the parent died before the line above took hold
    os.setpgid(0, 0)  # killed as a group, and spared by a signal to the parent's
    signal.set_wakeup_fd(-1)
    for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(one, signal.SIG_IGN)
    signal.signal(STOP, _note_stop)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in shared:
        os.dup2(nowhere, descriptor)
    os.close(nowhere)


def _bound(held: Held) -> None:
    # The parent enforces the deadline; should it be stopped itself, the kernel ends this process.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, (held.job.max_duration + LATER).total_seconds())
    _name_connections(held)


def _name_connections(held: Held) -> None:
    """Let the run's connections be found by name, and let the server notice when this process is gone."""
    options = connections["default"].settings_dict["OPTIONS"]
    given = str(options.get("options", ""))
    connections["default"].settings_dict["OPTIONS"] = {
        **options,
        "application_name": keeping.application_name(held.job),
        "options": f"{given} -c client_connection_check_interval=1000".strip(),
    }
    connections["default"].settings_dict["CONN_HEALTH_CHECKS"] = False


def _note_stop(signum: int, frame: FrameType | None) -> None:
    global _asked_to_stop
    _asked_to_stop = True
