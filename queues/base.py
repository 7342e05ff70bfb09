"""What a team declares: a queue, its claim mode, its freshness, its actions, and the rule of its score."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar, TypeVar

from django.core.checks import CheckMessage, Error
from django.core.exceptions import FieldDoesNotExist
from django.db.models import DateTimeField, JSONField
from django.utils.functional import Promise

from backoffice.commands import Command
from backoffice.errors import UnknownDefinition
from backoffice.registry import Definition, Registry
from backoffice.tenants.models import User
from backoffice.tenants.roles import ROLE_PERMISSIONS
from queues.due_rules import Within
from queues.inputs import Input
from queues.models.item import QueueItem
from queues.sources import fields_of

Words = str | Promise
ANSWER = "queues.work_scorechallenge"  # what a rule's owner needs


class ClaimMode(enum.Enum):
    """Whether a person must hold an item to decide it."""

    DISABLED = "disabled"
    OPTIONAL = "optional"
    REQUIRED = "required"


@dataclass(frozen=True)
class Claim:
    """How a queue's items are held: the lease of one claim, the cap per person, the longest hold by renewing."""

    mode: ClaimMode
    lease: timedelta = timedelta(hours=1)
    max_held: int = 5
    max_hold: timedelta = timedelta(hours=8)

    @classmethod
    def required(cls, *, lease: timedelta, max_held: int, max_hold: timedelta = timedelta(hours=8)) -> Claim:
        """Let a person decide only what that person holds."""
        return cls(ClaimMode.REQUIRED, lease, max_held, max_hold)

    @classmethod
    def optional(cls, *, lease: timedelta, max_held: int, max_hold: timedelta = timedelta(hours=8)) -> Claim:
        """Let a person hold an item, and decide a free one without holding it."""
        return cls(ClaimMode.OPTIONAL, lease, max_held, max_hold)

    @classmethod
    def disabled(cls) -> Claim:
        """Let nobody hold an item: its version alone guards a decision."""
        return cls(ClaimMode.DISABLED)


@dataclass(frozen=True)
class Bounded:
    """What the list shows is at most this far behind its source."""

    within: timedelta


@dataclass(frozen=True)
class Advisory:
    """What the list shows may be behind, and readers are told so in these words."""

    note: Words


@dataclass(frozen=True)
class RoundRobin:
    """What arrives is given out in turn to those who work in the queue and are not away, with no hand of theirs.

    Nobody is given more than `most` at a time, or what the claim allows; what nobody has room for stays free.
    """

    most: int | None = None


class Reason(enum.Enum):
    """Whether an action asks for a reason."""

    NONE = "none"
    OPTIONAL = "optional"
    REQUIRED = "required"


@dataclass(frozen=True)
class Action:
    """One decision on one item: a command over `item_id, token, version, reason`.

    `states` are those in which it is offered; empty means the open ones, under the queue's claim mode.
    One that `decides` nothing leaves the item open, and the person on its page.
    """

    name: str
    title: Words
    command: Command
    reason: Reason = Reason.NONE
    danger: bool = False
    states: tuple[str, ...] = ()
    applies: Callable[[Any], bool] | None = None
    decides: bool = True


class ScoreRule(Definition):
    """Compute a score from declared inputs.

    A new version makes every score of it due again; an edit without one leaves unchanged rows as they are.

    `owner` is the role that answers challenges of the rule. `candidate` is the next version, not yet in
    force: another ScoreRule of the same name, which the rule's page tries out without writing anything.
    """

    title: ClassVar[Words] = ""
    version: ClassVar[int] = 0
    citation: ClassVar[Words] = ""
    inputs: ClassVar[tuple[Input, ...]] = ()
    owner: ClassVar[str] = ""
    candidate: ClassVar[type[ScoreRule] | None] = None

    @property
    def most(self) -> int:
        """The highest score the rule can give."""
        return sum(one.most for one in self.inputs)

    def describe(self) -> dict[str, Any]:
        inputs = [{"name": one.name, "kind": type(one).__name__, "most": one.most} for one in self.inputs]
        return {
            "name": self.name,
            "version": self.version,
            "citation": str(self.citation),
            "inputs": inputs,
            "owner": self.owner,
        }

    def _check_name(self) -> list[CheckMessage]:
        if re.fullmatch(r"[a-z-]+\.[a-z-]+-score", self.name):
            return []
        return [_error(self, "E010", f"The rule's name {self.name!r} does not read like 'dispute.urgency-score'.")]

    def _check_version(self) -> list[CheckMessage]:
        if isinstance(self.version, int) and self.version > 0:
            return []
        return [_error(self, "E011", "The rule's version is not a whole number above 0.")]

    def _check_citation(self) -> list[CheckMessage]:
        return [] if self.citation and self.title else [_error(self, "E012", "The rule has no citation or no title.")]

    def _check_owner(self) -> list[CheckMessage]:
        if ANSWER in ROLE_PERMISSIONS.get(self.owner, ()):
            return []
        return [_error(self, "E015", f"The rule's owner {self.owner!r} is no role that answers challenges.")]

    def _check_candidate(self) -> list[CheckMessage]:
        if self.candidate is None:
            return []
        if self.candidate.name != self.name or self.candidate.version <= self.version:
            return [_error(self, "E016", "The rule's candidate needs the same name and a higher version.")]
        return self.candidate().check()

    def _check_inputs(self) -> list[CheckMessage]:
        names = [one.name for one in self.inputs]
        if not names or len(set(names)) != len(names):
            return [_error(self, "E013", "The rule needs inputs, each with a name of its own.")]
        return [
            _error(self, "E014", f"Input {one.name!r}: {problem}.") for one in self.inputs for problem in one.problems()
        ]


class Queue(Definition):
    """List a model's open items in the order of their score for people to decide.

    `permission_*` default to the model's: "queues.view_payout" to look, "queues.work_payout" to claim
    and decide.
    """

    title: ClassVar[Words] = ""
    model: ClassVar[type[QueueItem]]
    score: ClassVar[str | None] = None  # the rule's name: definitions never import one another
    claim: ClassVar[Claim | None] = None
    due: ClassVar[tuple[Within, ...]] = ()  # the clocks of working time; the first to run out is the due time
    freshness: ClassVar[Bounded | Advisory | None] = None
    columns: ClassVar[tuple[str, ...]] = ()
    filters: ClassVar[tuple[str, ...]] = ()
    search: ClassVar[tuple[str, ...]] = ("reference",)
    actions: ClassVar[tuple[Action, ...]] = ()
    party: ClassVar[str] = ""  # the field that names whom an item is about; links items of every queue
    sensitive: ClassVar[tuple[str, ...]] = ()  # fields of which some roles see the last four characters (masking.py)
    same: ClassVar[tuple[str, ...]] = ()  # further fields that link items of this queue
    twins: ClassVar[tuple[str, ...]] = ()  # what two open items share when one is a duplicate
    assign: ClassVar[RoundRobin | None] = None  # None: people take what they work on
    view_permission: ClassVar[str] = ""
    work_permission: ClassVar[str] = ""

    def __init__(self) -> None:
        if hasattr(self, "model"):
            label, name = self.model._meta.app_label, self.model._meta.model_name
            self.view = self.view_permission or f"{label}.view_{name}"
            self.work = self.work_permission or f"{label}.work_{name}"

    @property
    def rule(self) -> ScoreRule | None:
        """The registered rule that orders the queue; None orders it by age."""
        return None if self.score is None else rules.get(self.score)

    @property
    def claims(self) -> Claim:
        """The claim mode; a queue without one fails its check."""
        if self.claim is None:
            raise UnknownDefinition(f"queue {self.name!r} states no claim mode")
        return self.claim

    def action(self, name: str) -> Action:
        """Return the action of this name, or raise UnknownDefinition."""
        for action in self.actions:
            if action.name == name:
                return action
        raise UnknownDefinition(f"queue {self.name!r} has no action {name!r}")

    def actions_for(self, item: QueueItem, person: User | None = None) -> list[Action]:
        """Return the actions that apply to the item as it is and, where one is named, that the person may take."""
        return [
            action
            for action in self.actions
            if item.state in (action.states or self.model.OPEN)
            and (action.applies is None or action.applies(item))
            and (person is None or action.command.permission is None or person.has_perm(action.command.permission))
        ]

    def describe(self) -> dict[str, Any]:
        claims = self.claims
        return {
            "name": self.name,
            "model": self.model._meta.label,
            "claim": claims.mode.value,
            "lease_seconds": None if claims.mode is ClaimMode.DISABLED else int(claims.lease.total_seconds()),
            "order": self.score or "oldest first",
            "due": [clock.describe() for clock in self.due],
            "freshness": _freshness(self.freshness),
            "actions": [action.command.name for action in self.actions],
            "assign": "round robin" if self.assign else "by hand",
        }

    def _check_model(self) -> list[CheckMessage]:
        model = getattr(self, "model", None)
        if not (isinstance(model, type) and issubclass(model, QueueItem)) or not model.OPEN:
            return [_error(self, "E001", "The queue's model is not a QueueItem with OPEN states.")]
        if [other for other in queues if other is not self and getattr(other, "model", None) is model]:
            return [_error(self, "E002", f"Another queue lists {model.__name__} too; its claims would have two modes.")]
        return []

    def _check_claim(self) -> list[CheckMessage]:
        if not isinstance(self.claim, Claim):
            return [_error(self, "E003", "The queue states no claim mode: Claim.required, optional or disabled.")]
        if self.claim.lease <= timedelta(0) or self.claim.max_held < 1 or self.claim.max_hold < self.claim.lease:
            return [_error(self, "E004", "The claim needs a lease, a cap of 1 or more, and max_hold not below lease.")]
        return []

    def _check_assign(self) -> list[CheckMessage]:
        if self.assign is None or not isinstance(self.claim, Claim):
            return []
        most = self.assign.most
        if self.claim.mode is not ClaimMode.DISABLED and (most is None or 1 <= most <= self.claim.max_held):
            return []
        return [_error(self, "E020", "The queue shares out, which needs claims and a cap between 1 and max_held.")]

    def _check_score(self) -> list[CheckMessage]:
        if self.score is not None and self.score not in rules:
            return [_error(self, "E005", f"The queue's score rule {self.score!r} is not registered.")]
        return []

    def _check_freshness(self) -> list[CheckMessage]:
        if isinstance(self.freshness, Bounded | Advisory):
            return []
        return [_error(self, "E006", "The queue states no freshness: Bounded(within=...) or Advisory(note).")]

    def _check_fields(self) -> list[CheckMessage]:
        used = {*self.columns, *self.filters, *self.search, *self.same, *self.twins, *filter(None, [self.party])}
        rule = self.rule if self.score in rules else None
        for one in (*rule.inputs, *(rule.candidate.inputs if rule.candidate else ())) if rule else ():
            used.update(one.fields)
        for clock in self.due:
            used.update(clock.fields, fields_of(clock.paused) if clock.paused is not None else ())
        missing = sorted(name for name in used if not self._has_field(name))
        return [_error(self, "E007", f"The model has no field {name!r}.") for name in missing]

    def _check_actions(self) -> list[CheckMessage]:
        names = [action.name for action in self.actions]
        if not names or len(set(names)) != len(names):
            return [_error(self, "E008", "The queue needs actions, each with a name of its own.")]
        return []

    def _check_due(self) -> list[CheckMessage]:
        names = [clock.name for clock in self.due]
        if len(set(names)) != len(names):
            return [_error(self, "E017", "Two clocks of the queue's due times have one name.")]
        return [
            _error(self, "E018", f"Clock {clock.name!r}: {problem}.")
            for clock in self.due
            for problem in clock.problems()
        ]

    def _check_due_fields(self) -> list[CheckMessage]:
        found: list[CheckMessage] = []
        for clock in self.due:
            instants = [name for name in (clock.after, clock.until) if name and self._has_field(name)]
            for name in instants:
                if not isinstance(self.model._meta.get_field(name), DateTimeField):
                    found.append(_error(self, "E019", f"Clock {clock.name!r}: {name!r} holds no instant."))
            kept = clock.waits and self._has_field(clock.waits)
            if kept and not isinstance(self.model._meta.get_field(clock.waits), JSONField):
                found.append(_error(self, "E019", f"Clock {clock.name!r}: {clock.waits!r} holds no pairs of instants."))
        return found

    def _has_field(self, name: str) -> bool:
        try:
            self.model._meta.get_field(name)
        except FieldDoesNotExist:
            return False
        return True


def _freshness(stated: Bounded | Advisory | None) -> str:
    if isinstance(stated, Bounded):
        return f"at most {int(stated.within.total_seconds())} s behind"
    return str(stated.note) if stated else ""


def _error(definition: object, number: str, words: str) -> CheckMessage:
    return Error(words, obj=definition, id=f"queues.{number}")


queues: Registry[Queue] = Registry("queue")
rules: Registry[ScoreRule] = Registry("score rule")

T = TypeVar("T", bound=type[Definition])


def register(cls: T) -> T:
    """Register a Queue or a ScoreRule (a decorator)."""
    if issubclass(cls, Queue):
        queues.register(cls)
    elif issubclass(cls, ScoreRule):
        rules.register(cls)
    else:
        raise TypeError(f"{cls.__qualname__} is neither a Queue nor a ScoreRule")
    return cls


def queue_for(model: type[QueueItem]) -> Queue:
    """Return the one queue over this model, or raise UnknownDefinition."""
    for queue in queues:
        if queue.model is model:
            return queue
    raise UnknownDefinition(f"no queue lists {model.__name__}")
