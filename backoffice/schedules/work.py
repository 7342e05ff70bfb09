"""What scheduled and manual jobs share: what a run works on, with which command, within which bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, ClassVar, Protocol

from django.core.checks import CheckMessage, Error
from django.utils.functional import Promise

from backoffice import livesettings, runbooks
from backoffice.commands import Command
from backoffice.jobs.base import Consequence, NoConsequence
from backoffice.runbooks import Runbook
from backoffice.tenants.models import Tenant

SYSTEM = "schedules"
MAX_BATCH = 10_000
MAX_ATTEMPTS = 20


class Spread(StrEnum):
    """Whose schedule it is."""

    PLATFORM = "platform"  # one row, of the platform tenant; its items name their tenants
    TENANT = "tenant"  # one row for each tenant but the platform


@dataclass(frozen=True)
class Item:
    """One thing a run works on: `key` orders the selection and scopes the command's idempotency.

    `tenant` is whose it is; None means the occurrence's own tenant.
    """

    key: str
    arguments: dict[str, Any] = field(default_factory=dict)
    tenant: Tenant | None = None


class Selection(Protocol):
    """Return at most `limit` items with keys after `after`, in the order of their keys.

    Fewer than `limit` are the last ones. `now` is the instant for which the work was planned. The
    keys order as text and do not change while a run goes on: the last one done is where it resumes.
    """

    def __call__(self, *, now: datetime, after: str, limit: int) -> Sequence[Item]: ...


def once(*, now: datetime, after: str, limit: int) -> Sequence[Item]:
    """Select the one item of a command that does all its work in one transaction."""
    return [] if after else [Item(key="once")]


def each_tenant(*, after: str, limit: int) -> list[tuple[str, Tenant]]:
    """Return the next tenants with a key each, for selections that work on every tenant in turn."""
    found = Tenant.objects.filter(pk__gt=int(after or 0)).order_by("pk")[:limit]
    return [(f"{tenant.pk:019d}", tenant) for tenant in found]


class Work:
    """The options of every job here. Each is checked by the `_check_` method of its name."""

    title: ClassVar[str | Promise] = ""
    spread: ClassVar[Spread]
    selects: ClassVar[Any]  # a Selection; a checker would take a plain function on a class for a method
    runs: ClassVar[Command]
    batch_size: ClassVar[int]
    drives_saga: ClassVar[bool] = False
    cursor: ClassVar[str] = ""
    attempts: ClassVar[int]
    backoff: ClassVar[Any]  # attempt -> timedelta; the same
    max_duration: ClassVar[timedelta]
    lease: ClassVar[timedelta] = timedelta(seconds=30)
    retention: ClassVar[str]
    failure: ClassVar[Consequence | NoConsequence]
    runbook: ClassVar[Runbook]
    name: ClassVar[str]

    def select(self, *, now: datetime, after: str, limit: int) -> Sequence[Item]:
        """Ask the selection; it is a plain function on the class, not a method."""
        selection: Selection = type(self).selects
        return selection(now=now, after=after, limit=limit)

    def wait(self, attempt: int) -> timedelta:
        """Return how long to wait after this attempt failed."""
        wait: timedelta = type(self).backoff(attempt)
        return wait

    def describe(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "title": str(self.title),
            "spread": str(getattr(self, "spread", "")),
            "runs": getattr(getattr(self, "runs", None), "name", ""),
            "batch_size": getattr(self, "batch_size", None),
            "cursor": self.cursor,
            "attempts": getattr(self, "attempts", None),
            "max_duration": str(getattr(self, "max_duration", "")),
            "lease": str(self.lease),
            "retention": getattr(self, "retention", ""),
            "runbook": self.runbook.procedures() if isinstance(getattr(self, "runbook", None), Runbook) else {},
        }

    def _wrong(self, code: str, what: str, hint: str) -> list[CheckMessage]:
        return [Error(f"{self.name}: {what}.", hint=hint, obj=self, id=code)]

    def _positive(self, option: str, code: str, hint: str) -> list[CheckMessage]:
        value = getattr(self, option, None)
        if isinstance(value, timedelta) and value > timedelta(0):
            return []
        return self._wrong(code, f"{option} is no positive duration", hint)

    def _check_title(self) -> list[CheckMessage]:
        if self.title and self.__doc__:
            return []
        return self._wrong("schedules.E001", "it has no title or no docstring", "Say what it does, for the page.")

    def _check_spread(self) -> list[CheckMessage]:
        if isinstance(getattr(self, "spread", None), Spread):
            return []
        return self._wrong("schedules.E002", "spread is missing", "State Spread.PLATFORM or Spread.TENANT.")

    def _check_selects(self) -> list[CheckMessage]:
        if callable(getattr(self, "selects", None)):
            return []
        return self._wrong("schedules.E003", "selects is no function", "Name a selection, or schedules.once.")

    def _check_runs(self) -> list[CheckMessage]:
        runs = getattr(self, "runs", None)
        if isinstance(runs, Command) and SYSTEM in runs.systems:
            return []
        hint = f'Name a function decorated with @command(..., systems=("{SYSTEM}",)).'
        return self._wrong("schedules.E004", "runs is no command that schedules may dispatch", hint)

    def _check_batch_size(self) -> list[CheckMessage]:
        size = getattr(self, "batch_size", 0)
        if isinstance(size, int) and 1 <= size <= MAX_BATCH:
            return []
        return self._wrong("schedules.E005", f"batch_size does not lie between 1 and {MAX_BATCH}", "State batch_size.")

    def _check_cursor(self) -> list[CheckMessage]:
        if self.cursor or not self.drives_saga:
            return []
        return self._wrong(
            "schedules.E006",
            "it drives a saga and names no cursor",
            "Say in `cursor` where the position lives from which a run that failed halfway resumes.",
        )

    def _check_attempts(self) -> list[CheckMessage]:
        attempts = getattr(self, "attempts", 0)
        if isinstance(attempts, int) and 1 <= attempts <= MAX_ATTEMPTS:
            return []
        return self._wrong("schedules.E007", f"attempts is not between 1 and {MAX_ATTEMPTS}", "Bound the attempts.")

    def _check_backoff(self) -> list[CheckMessage]:
        backoff = getattr(type(self), "backoff", None)
        if callable(backoff) and isinstance(backoff(1), timedelta) and backoff(1) > timedelta(0):
            return []
        return self._wrong("schedules.E008", "backoff gives no positive duration", "State backoff = Backoff().")

    def _check_max_duration(self) -> list[CheckMessage]:
        return self._positive("max_duration", "schedules.E009", "Say after how long a run is stopped.")

    def _check_lease(self) -> list[CheckMessage]:
        return self._positive("lease", "schedules.E010", "Say how long a worker may be silent before it is replaced.")

    def _check_retention(self) -> list[CheckMessage]:
        if getattr(self, "retention", "") in livesettings.settings:
            return []
        return self._wrong("schedules.E011", "retention names no setting", 'State retention = "schedules.retention".')

    def _check_failure(self) -> list[CheckMessage]:
        if isinstance(getattr(self, "failure", None), Consequence | NoConsequence):
            return []
        return self._wrong("schedules.E012", "it does not say what its failure means", "State failure = Consequence().")

    def _check_runbook(self) -> list[CheckMessage]:
        return runbooks.check(getattr(self, "runbook", None), owner=self.name, obj=self, code="schedules.E013")


def runbook_of(name: str, *, note: str = "") -> Runbook:
    """Return the procedures that hold for every job here, naming this one."""
    return Runbook(
        inspect=f"manage.py schedules show {name}",
        replay="manage.py schedules replay OCCURRENCE",
        disable=f"manage.py schedules pause {name}",
        note=note or "A run already going is not stopped by a pause: cancel its job for that.",
    )
