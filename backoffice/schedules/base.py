"""ScheduledJob and ManualJob: what a team writes to have work done by the timetable or by an operator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, ClassVar

from django.core.checks import CheckMessage, Error
from django.utils.functional import Promise

from backoffice.registry import Definition, Registry
from backoffice.schedules import planning, zones
from backoffice.schedules.timing import EPOCH, Gap, InvalidTiming, Overlap, Timing
from backoffice.schedules.work import Work

_CRON_HINT = (
    "State every=timedelta(...), or cron with five fields. Days: when day-of-month and day-of-week are both "
    "restricted, a day that matches either fires. Every wall time follows `gap` and `overlap`: a fixed hour in "
    "the repeated hour fires on the first, the second or both, as stated."
)


class Misfire(StrEnum):
    """What becomes of instants that passed while nothing planned them."""

    SKIP = "skip"  # those older than `grace` are left out
    ONCE = "once"  # only the latest runs
    INTERVAL = "interval"  # each runs, oldest first; beyond `cap` the oldest are left out


class StillGoing(StrEnum):
    """What becomes of an occurrence that is due while an earlier one has not ended."""

    SKIP = "skip"
    QUEUE = "queue"
    ALLOW = "allow"


class RunsWhere(StrEnum):
    """Which deployments and tenants a manual job may touch."""

    EMBEDDED = "embedded"  # a deployment on the embedded database only
    DEMO = "demo"  # demo tenants only
    ANY = "any"  # the tenant it is run for, in any deployment


@dataclass(frozen=True, kw_only=True)
class Guard:
    """Say who may run a manual job (a permission) and when: a test of the current instant, in words."""

    permission: str
    hours: str | Promise
    allows: Callable[[datetime], bool] = lambda now: True


class ScheduledJob(Work, Definition):
    """Work that the timetable starts. It says when; the command it runs says what.

    Every option is required but `business_reason`, `gap` and `overlap` (for a zone other than UTC),
    `grace` (for Misfire.SKIP), `cap` (for Misfire.INTERVAL) and `anchor` (UTC midnights by default).
    """

    every: ClassVar[timedelta | None] = None
    cron: ClassVar[str | None] = None
    zone: ClassVar[str] = "UTC"
    business_reason: ClassVar[str] = ""
    gap: ClassVar[Gap | None] = None
    overlap: ClassVar[Overlap | None] = None
    anchor: ClassVar[datetime] = EPOCH
    misfire: ClassVar[Misfire]
    grace: ClassVar[timedelta | None] = None
    cap: ClassVar[int | None] = None
    still_going: ClassVar[StillGoing]

    @property
    def timing(self) -> Timing:
        return Timing(
            every=self.every,
            cron=self.cron,
            zone=self.zone,
            gap=self.gap,
            overlap=self.overlap,
            anchor=self.anchor,
        )

    def describe(self) -> dict[str, Any]:
        return {
            **super().describe(),
            "schedule": str(self.timing),
            "zone": self.zone,
            "business_reason": self.business_reason,
            "gap": str(self.gap or ""),
            "overlap": str(self.overlap or ""),
            "misfire": str(getattr(self, "misfire", "")),
            "grace": str(self.grace or ""),
            "cap": self.cap,
            "still_going": str(getattr(self, "still_going", "")),
        }

    def _check_schedule(self) -> list[CheckMessage]:
        try:
            planning.check(self.timing)
        except InvalidTiming as wrong:
            return self._wrong("schedule-invalid", str(wrong), _CRON_HINT)
        if self.cron is not None and len(self.cron.split()) == 6:
            return self._wrong("schedule-invalid", f"{self.cron!r} has six fields", _CRON_HINT)
        if self.every is not None and self.zone != "UTC":
            return self._wrong("schedule-invalid", "`every` is elapsed time and has no zone", _CRON_HINT)
        return []

    def _check_zone(self) -> list[CheckMessage]:
        if self.zone == "UTC":
            return []
        found: list[CheckMessage] = []
        if not self.business_reason:
            hint = "Name the business need in `business_reason`, or plan in UTC."
            found += self._wrong("schedules.E014", f"it runs by the clock of {self.zone} and does not say why", hint)
        if not isinstance(self.gap, Gap):
            hint = "State Gap.SKIP, Gap.SHIFT or Gap.GAP_END for wall times that the clock skips."
            found += self._wrong("schedules.E015", "gap is missing", hint)
        if not isinstance(self.overlap, Overlap):
            hint = "State Overlap.FIRST, Overlap.SECOND or Overlap.BOTH for wall times that the clock repeats."
            found += self._wrong("schedules.E016", "overlap is missing", hint)
        return found

    def _check_misfire(self) -> list[CheckMessage]:
        misfire = getattr(self, "misfire", None)
        if not isinstance(misfire, Misfire):
            return self._wrong("schedules.E017", "misfire is missing", "State Misfire.SKIP, ONCE or INTERVAL.")
        if misfire is Misfire.SKIP and not (isinstance(self.grace, timedelta) and self.grace > timedelta(0)):
            return self._wrong("schedules.E018", "grace is missing", "Say how late it may still start.")
        if misfire is Misfire.INTERVAL and not (isinstance(self.cap, int) and self.cap > 0):
            return self._wrong("schedules.E019", "cap is missing", "Say how many missed instants are caught up.")
        return []

    def _check_still_going(self) -> list[CheckMessage]:
        going = getattr(self, "still_going", None)
        if going is StillGoing.SKIP and getattr(self, "misfire", None) is Misfire.INTERVAL:
            hint = "State StillGoing.QUEUE: caught-up instants run one after the other."
            return self._wrong("schedules.E020", "it catches instants up only to leave them out again", hint)
        if isinstance(going, StillGoing):
            return []
        return self._wrong("schedules.E020", "still_going is missing", "State StillGoing.SKIP, QUEUE or ALLOW.")


class ManualJob(Work, Definition):
    """Work that an operator starts, inside `runs_where` and under `guard`."""

    runs_where: ClassVar[RunsWhere]
    guard: ClassVar[Guard]

    def describe(self) -> dict[str, Any]:
        guard = getattr(self, "guard", None)
        return {
            **super().describe(),
            "schedule": "manual",
            "runs_where": str(getattr(self, "runs_where", "")),
            "guard": {"permission": guard.permission, "hours": str(guard.hours)} if guard else {},
        }

    def _check_guard(self) -> list[CheckMessage]:
        if isinstance(getattr(self, "guard", None), Guard):
            return []
        hint = "State guard = Guard(permission=..., hours=...): who may run it, and when."
        return self._wrong("job-guard-missing", "this manual job has no guard", hint)

    def _check_runs_where(self) -> list[CheckMessage]:
        if isinstance(getattr(self, "runs_where", None), RunsWhere):
            return []
        return self._wrong("schedules.E021", "runs_where is missing", "State which deployments it may touch.")


jobs: Registry[ScheduledJob | ManualJob] = Registry("scheduled job")


def check_zone_data(app_configs: Any = None, **kwargs: Any) -> list[CheckMessage]:
    """Report time zone rules older than the pinned ones: schedules would fire at yesterday's hours."""
    installed = zones.installed()
    if _version(installed) >= _version(zones.PINNED):
        return []
    return [
        Error(
            f"tzdata {installed} is older than the pinned {zones.PINNED}: local schedules may fire at the wrong hour.",
            hint="Run `uv sync`.",
            id="schedules.E022",
        )
    ]


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdigit())
