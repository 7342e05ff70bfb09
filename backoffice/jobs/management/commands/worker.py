"""Work on one queue: `manage.py worker interactive`."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from backoffice.jobs.states import QUEUES


class Command(BaseCommand):
    """Run a worker until SIGTERM or Ctrl-C; it finishes or hands over what it is doing."""

    requires_system_checks = []  # it starts often; `manage.py check` is a step of its own
    help = "Run the jobs of one queue until SIGTERM or Ctrl-C. Start one process for each queue, or more."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("queue", choices=QUEUES)
        parser.add_argument("--burst", action="store_true", help="end when the queue is empty")
        parser.add_argument("--stop-within", type=float, default=None, metavar="SECONDS")

    def handle(self, *args: Any, **options: Any) -> None:
        from backoffice.jobs.worker import STOP_WITHIN, JobWorker  # the only command that needs RQ's worker

        within = STOP_WITHIN if options["stop_within"] is None else options["stop_within"]
        JobWorker(options["queue"], stop_within=within).run_forever(burst=options["burst"])
