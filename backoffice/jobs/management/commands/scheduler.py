"""Run the scheduler: the reconciler, and what else is to be called every so often."""

from __future__ import annotations

import time
from typing import Any

from django.core.management.base import BaseCommand

from backoffice.jobs import looping, reconciling
from backoffice.jobs.looping import Loop, Periodic

RECONCILE_EVERY = 1.0


class Command(BaseCommand):
    """Call the reconciler each second and each registered periodic function in its time, until SIGTERM."""

    requires_system_checks = []  # as for the worker
    help = "Look after what waits, was lost or is due, until SIGTERM or Ctrl-C. Several copies do no harm."

    def handle(self, *args: Any, **options: Any) -> None:
        own = [
            Periodic("jobs.overdue", RECONCILE_EVERY, reconciling.end_overdue),
            Periodic("jobs.dispatch", RECONCILE_EVERY, reconciling.dispatch_due),
        ]
        Loop([*own, *looping.periodics], clock=time.monotonic).run()
