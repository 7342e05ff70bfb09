"""A work-horse forked ahead: it waits for its one run, so that no job waits for a fork.

It is made while the parent waits for a message, or while the run before it goes on and more wait. It
has settled in before it is told its run, so it dies with its parent like any other.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterable

from backoffice.jobs import horse
from backoffice.jobs.keeping import Held
from backoffice.jobs.relaying import Relay


class Standby:
    """One process that will run one job, or none."""

    def __init__(self, *, shared: Iterable[int]) -> None:
        parent = os.getpid()
        self.relay = Relay()
        self.pid = os.fork()
        if self.pid == 0:
            horse.run(parent=parent, shared=list(shared), relay=self.relay)
        self.relay.for_parent()

    def begin(self, held: Held) -> bool:
        """Tell it its run; False when it has died in the meantime, and is gone for good."""
        try:
            self.relay.parent.send(held)
        except OSError:
            self.dismiss()
            return False
        return True

    def dismiss(self) -> None:
        """End it."""
        self.relay.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)  # our child and not waited for: the number is nobody else's
        os.waitpid(self.pid, 0)
