"""A job that watches its own run: progress into its record, its cancellation out of it."""

from __future__ import annotations

from backoffice.jobs.running import Run


class JobWatch:
    """Report rows as the job's progress, and raise once the job is no longer wanted or no longer ours."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def check(self) -> None:
        """Raise when the job was asked to stop."""
        self._run.check_cancelled()

    def insist(self) -> None:
        """Raise when the job was asked to stop or is no longer ours, however lately it was asked."""
        self._run.guard()

    def report(self, done: int, total: int) -> None:
        """Note the rows written so far."""
        self._run.report(done, total)
