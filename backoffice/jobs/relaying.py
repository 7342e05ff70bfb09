"""The work-horse's reports go through its parent, whose connection is open and warm.

A fork that opened a connection only to say that it ran would spend more on that than on its work.
The statements are conditional on (id, fence), so it does not matter who sends them. Reports that come
close together become one statement, and the last ones part of the settlement's. Commands and guards
use the horse's own connection: a guard belongs into the command's transaction.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from multiprocessing import Pipe
from typing import Any, Protocol

import psycopg
from django.db import OperationalError

from backoffice.jobs import statements
from backoffice.jobs.statements import Rows

Heed = Callable[[Rows], None]
Batch = list[tuple[str, dict[str, Any]]]
Message = tuple[Batch, bool]  # statements, and whether their answers are waited for
MOST = 64  # statements of one batch
LINGER = 0.003  # seconds that the parent waits for more, so that short steps become one statement


class Wire(Protocol):
    """How a run reaches the record."""

    def execute(self, name: str, values: Mapping[str, Any]) -> Rows:
        """Run the statement and return its rows; what was posted before runs before it."""

    def post(self, name: str, values: Mapping[str, Any], heed: Heed, *, hurry: bool) -> None:
        """Run the statement in order: at once with `hurry`, else with the next one. `heed` gets its rows later."""

    def settle(self, *, wait: bool) -> None:
        """Heed the answers that are there; with `wait`, all of them."""


class Direct:
    """Run on Django's connection of this process, at once."""

    def execute(self, name: str, values: Mapping[str, Any]) -> Rows:
        return statements.on_django(name, values)

    def post(self, name: str, values: Mapping[str, Any], heed: Heed, *, hurry: bool) -> None:
        heed(statements.on_django(name, values))

    def settle(self, *, wait: bool) -> None:
        """Nothing is ever open."""


class Relay:
    """One run's wire to its parent: `execute` and `post` in the horse, `serve` in the parent."""

    def __init__(self) -> None:
        self.parent, self.horse = Pipe()
        self._open: deque[Heed] = deque()
        self._unsent: Batch = []
        self._answers: deque[Rows | None] = deque()

    def for_horse(self) -> None:
        """Keep the horse's end only."""
        self.parent.close()

    def for_parent(self) -> None:
        """Keep the parent's end only."""
        self.horse.close()

    def execute(self, name: str, values: Mapping[str, Any]) -> Rows:
        """Have the parent run the statement; raises OperationalError when it cannot reach the database."""
        self._unsent.append((name, dict(values)))
        self._send(waits=True)
        self._heed_all()
        return self._answer()

    def post(self, name: str, values: Mapping[str, Any], heed: Heed, *, hurry: bool) -> None:
        """Have the parent run the statement without waiting for it."""
        self._unsent.append((name, dict(values)))
        self._open.append(heed)
        if hurry:
            self._send(waits=False)
            self.settle(wait=False)

    def settle(self, *, wait: bool) -> None:
        """Heed the answers to what was posted."""
        if wait and self._open:
            self._send(waits=True)
            self._heed_all()
        while self._open and (self._answers or self.horse.poll(0)):
            self._heed_one()

    def _heed_all(self) -> None:
        while self._open:
            self._heed_one()

    def _heed_one(self) -> None:
        heed = self._open.popleft()
        heed(self._answer())

    def _send(self, *, waits: bool) -> None:
        message: Message = (self._unsent, waits)
        self._unsent = []
        try:
            self.horse.send(message)
        except OSError as gone:
            raise OperationalError("the worker is gone") from gone

    def _answer(self) -> Rows:
        try:
            while not self._answers:
                self._answers.extend(self.horse.recv())
        except (EOFError, OSError) as gone:
            raise OperationalError("the worker is gone") from gone
        rows = self._answers.popleft()
        if rows is None:
            raise OperationalError("the worker cannot reach the database")
        return rows

    def serve(self, execute_all: Callable[[Batch], list[Rows]]) -> bool:
        """Run what the horse has sent, together; False when it has hung up. Raises psycopg.Error after telling it."""
        batch: Batch = []
        open_ = True
        try:
            waits = False
            while not waits and len(batch) < MOST and (not batch or self.parent.poll(LINGER)):
                more, waits = self.parent.recv()
                batch += more
        except (EOFError, OSError):
            open_ = False
        try:
            answers: list[Rows | None] = [*_run_merged(batch, execute_all)]
        except psycopg.Error:
            self._reply([None] * len(batch))
            raise
        self._reply(answers)
        return open_

    def _reply(self, answers: list[Rows | None]) -> None:
        if not answers:
            return
        try:
            self.parent.send(answers)
        except OSError:
            return  # the horse is gone; its end is seen elsewhere

    def close(self) -> None:
        """Hang up."""
        self.parent.close()


def _run_merged(batch: Batch, execute_all: Callable[[Batch], list[Rows]]) -> list[Rows]:
    """Run the batch, with step reports put into the one that follows, or the settlement; each gets its answer."""
    merged: Batch = []
    places: list[int] = []
    for name, values in batch:
        if merged and merged[-1][0] == "report_steps" and name in ("report_steps", "settle"):
            before = merged.pop()[1]
            values = {**values, **{moves: before[moves] + values[moves] for moves in statements.MOVES}}
        merged.append((name, values))
        places.append(len(merged) - 1)
    answers = execute_all(merged) if merged else []
    return [answers[place] for place in places]
