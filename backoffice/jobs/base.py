"""The shape of a kind of job: its steps, its bounds, what its failure means, and its one handler."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar

from django.core.checks import CheckMessage, Error
from django.utils.functional import Promise

from backoffice.jobs.states import QUEUES
from backoffice.registry import Definition, Registry

if TYPE_CHECKING:
    from backoffice.jobs.models import Job
    from backoffice.jobs.running import Run

MAX_ATTEMPTS = 50
SHORTEST_LEASE = timedelta(seconds=1)


@dataclass(frozen=True)
class Step:
    """One visible part of the work. With weights, progress is the highest weight of a settled step."""

    name: str
    title: str | Promise
    weight: int | None = None


@dataclass(frozen=True)
class Consequence:
    """Say in people's words what a failure of this job means for the business."""

    words: str | Promise


@dataclass(frozen=True)
class NoConsequence:
    """Say why a failure of this job changes nothing outside it."""

    reason: str | Promise


@dataclass(frozen=True)
class Backoff:
    """Wait `first` after the first attempt and twice as long after each further one, up to `most`."""

    first: timedelta = timedelta(seconds=5)
    most: timedelta = timedelta(minutes=10)

    def __call__(self, attempt: int) -> timedelta:
        return min(self.first * 2 ** min(max(attempt - 1, 0), 30), self.most)


class JobKind(Definition):
    """Declare one kind of durable work. What holds for a job is what was declared when it was submitted.

    `run` is called in a process of its own, in the job's tenant. It dispatches commands with
    `guard=run.guard` and changes nothing else. It may run again after a failure or a lost worker:
    steps that ended are skipped, and a command's key makes its repetition one effect. A Refusal it
    raises ends the job with the refusal's words; anything else is tried again, `max_attempts` in all.
    """

    title: ClassVar[str | Promise] = ""
    queue: ClassVar[str] = "interactive"
    steps: ClassVar[tuple[Step, ...]] = ()
    max_attempts: ClassVar[int] = 3
    backoff: ClassVar[Callable[[int], timedelta]] = Backoff()
    lease: ClassVar[timedelta] = timedelta(seconds=30)
    max_duration: ClassVar[timedelta] = timedelta(minutes=10)
    cancel_grace: ClassVar[timedelta] = timedelta(seconds=10)
    replayable: ClassVar[bool] = True  # may a person run an ended job again as a new one?
    changes: ClassVar[str | Promise] = ""  # what its success changes, in people's words
    failure: ClassVar[Consequence | NoConsequence]

    def run(self, run: Run) -> None:
        """Do the work."""
        raise NotImplementedError

    def address(self, job: Job) -> str:
        """Return where people see what came of the job, in its tenant; "" for the job's own page."""
        return ""

    def changed(self, jobs: Sequence[Job]) -> Mapping[int, str]:
        """Say of each of these ended jobs what it changed and what not, by the job's id.

        Counted from the rows that hold its effects, since a job may end without its handler. Of a job
        that is left out, `changes` or its steps say it. May be asked over several tenants at once.
        """
        return {}

    def wait(self, attempt: int) -> timedelta:
        """Return how long to wait after this attempt failed."""
        return type(self).backoff(attempt)

    def catalog(self) -> list[dict[str, Any]]:
        """Return the steps as the submitted event publishes them."""
        return [{"name": s.name, "title": str(s.title), "weight": s.weight} for s in self.steps]

    def describe(self) -> dict[str, Any]:
        failure = getattr(self, "failure", None)
        return {
            "name": self.name,
            "title": str(self.title),
            "queue": self.queue,
            "steps": self.catalog(),
            "max_attempts": self.max_attempts,
            "lease": str(self.lease),
            "max_duration": str(self.max_duration),
            "changes": str(self.changes),
            "failure": str(failure.words) if isinstance(failure, Consequence) else "",
            "no_consequence": str(failure.reason) if isinstance(failure, NoConsequence) else "",
        }

    def _wrong(self, code: str, what: str, hint: str) -> list[CheckMessage]:
        return [Error(f"{self.name}: {what}.", hint=hint, obj=self, id=code)]

    def _check_title(self) -> list[CheckMessage]:
        if self.title:
            return []
        return self._wrong("jobs.E001", "it has no title", "Say in a few words what it does, for the pages.")

    def _check_queue(self) -> list[CheckMessage]:
        if self.queue in QUEUES:
            return []
        return self._wrong("jobs.E002", f"there is no queue {self.queue!r}", f"Choose from: {', '.join(QUEUES)}.")

    def _check_steps(self) -> list[CheckMessage]:
        names = [step.name for step in self.steps]
        if names and len(set(names)) == len(names) and all(0 < len(name) <= 60 for name in names):
            return []
        return self._wrong("jobs.E003", "its steps are missing or share a name", "Name at least one Step, each once.")

    def _check_weights(self) -> list[CheckMessage]:
        weights = [step.weight for step in self.steps]
        if all(weight is None for weight in weights):
            return []
        known = [weight for weight in weights if weight is not None]
        if len(known) == len(weights) and known == sorted(known) and known[0] > 0 and known[-1] == 100:
            return []
        return self._wrong("jobs.E004", "its weights do not rise to 100", "Weigh every step, rising to 100, or none.")

    def _check_max_attempts(self) -> list[CheckMessage]:
        if isinstance(self.max_attempts, int) and 1 <= self.max_attempts <= MAX_ATTEMPTS:
            return []
        return self._wrong("jobs.E005", f"max_attempts is not between 1 and {MAX_ATTEMPTS}", "Bound the attempts.")

    def _check_backoff(self) -> list[CheckMessage]:
        backoff = type(self).backoff
        if callable(backoff) and isinstance(backoff(1), timedelta) and backoff(1) >= timedelta(0):
            return []
        return self._wrong("jobs.E006", "backoff gives no duration", "State backoff = Backoff().")

    def _check_lease(self) -> list[CheckMessage]:
        if isinstance(self.lease, timedelta) and self.lease >= SHORTEST_LEASE:
            return []
        return self._wrong("jobs.E007", "the lease is shorter than a second", "State lease = timedelta(seconds=30).")

    def _check_max_duration(self) -> list[CheckMessage]:
        if isinstance(self.max_duration, timedelta) and self.max_duration > timedelta(0):
            return []
        return self._wrong("jobs.E008", "max_duration is no positive duration", "Say after how long it is stopped.")

    def _check_failure(self) -> list[CheckMessage]:
        failure = getattr(self, "failure", None)
        words = getattr(failure, "words", "") or getattr(failure, "reason", "")
        if isinstance(failure, Consequence | NoConsequence) and words:
            return []
        return self._wrong(
            "jobs.E009",
            "it does not say what its failure means",
            'State failure = Consequence("what it means") or NoConsequence("why it means nothing").',
        )

    def _check_run(self) -> list[CheckMessage]:
        if type(self).run is not JobKind.run:
            return []
        return self._wrong("jobs.E010", "it has no handler", "Write `def run(self, run): ...`.")

    def _check_changes(self) -> list[CheckMessage]:
        if self.changes:
            return []
        return self._wrong(
            "jobs.E011", "it does not say what it changes", 'State changes = _("what is different once it is done").'
        )


kinds: Registry[JobKind] = Registry("job kind")
register = kinds.register
