"""The few errors that the whole product shares."""

from __future__ import annotations

from django.utils.functional import Promise


class BackofficeError(Exception):
    """Be the root of every error that this product raises on purpose."""


class Refusal(BackofficeError):
    """Say no to a person in words: `code` for machines and tests, `message` for people.

    Its message is safe to show: it never holds technical detail or another tenant's data.
    """

    def __init__(self, code: str, message: str | Promise) -> None:
        super().__init__(code)
        self.code = code
        self.message = message

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


class NotPermitted(Refusal):
    """Refuse an actor who may not do this."""


class KeyReused(Refusal):
    """Refuse an idempotency key that already names another act."""


class NoTenantScope(BackofficeError):
    """Stop a query that runs outside a tenant scope."""


class SubmissionConflict(BackofficeError):
    """Abort a transaction whose insert lost a race; the caller repeats the whole transaction."""


class UnknownDefinition(BackofficeError):
    """Say that no definition has this name."""
