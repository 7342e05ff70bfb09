"""What stops a run or is refused. None of these is a Refusal: their words are not for people."""

from __future__ import annotations

from backoffice.errors import BackofficeError


class StaleFence(BackofficeError):
    """Stop a run that no longer holds its job: another fence, a lapsed lease, or a job that ended."""


class Cancelled(StaleFence):
    """Stop a run whose job was asked to be cancelled."""


class Stopping(BackofficeError):
    """Stop a run between two steps because its worker shuts down; a successor execution goes on."""


class Broken(BackofficeError):
    """Say where a run broke, in words safe to show; its cause is the fault, and the attempt is tried again for it."""

    def __init__(self, where: str) -> None:
        super().__init__(where)
        self.where = where


class StartRefused(BackofficeError):
    """Refuse to start a job inside the transaction that submits it."""


class SettlementRefused(BackofficeError):
    """Refuse to settle a job that is settled, or that another execution holds."""


class ContinuationRefused(BackofficeError):
    """Refuse a continuation whose source is not the job's current execution."""
