"""The work-horse's reports go through its parent, whose connection is open and warm.

A fork that opened a connection only to say that it ran would spend more on that than on its work.
The statements are conditional on (id, fence), so it does not matter who sends them. Commands and
guards use the horse's own connection: a guard belongs into the command's transaction.
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
MOST = 64  # statements of one batch


class Wire(Protocol):
    """How a run reaches the record."""

    def execute(self, name: str, values: Mapping[str, Any]) -> Rows:
        """Run the statement and return its rows; what was posted before runs before it."""

    def post(self, name: str, values: Mapping[str, Any], heed: Heed) -> None:
        """Run the statement soon, in order; `heed` gets its rows at the next call at the latest."""

    def settle(self, *, wait: bool) -> None:
        """Heed the answers that are there; with `wait`, all of them."""


class Direct:
    """Run on Django's connection of this process, at once."""

    def execute(self, name: str, values: Mapping[str, Any]) -> Rows:
        return statements.on_django(name, values)

    def post(self, name: str, values: Mapping[str, Any], heed: Heed) -> None:
        heed(statements.on_django(name, values))

    def settle(self, *, wait: bool) -> None:
        """Nothing is ever open."""


class Relay:
    """One run's wire to its parent: `execute` and `post` in the horse, `serve` in the parent."""

    def __init__(self) -> None:
        self.parent, self.horse = Pipe()
        self._open: deque[Heed] = deque()

    def for_horse(self) -> None:
        """Keep the horse's end only."""
        self.parent.close()

    def for_parent(self) -> None:
        """Keep the parent's end only."""
        self.horse.close()

    def execute(self, name: str, values: Mapping[str, Any]) -> Rows:
        """Have the parent run the statement; raises OperationalError when it cannot reach the database."""
        self._send(name, values)
        self.settle(wait=True)
        return self._answer()

    def post(self, name: str, values: Mapping[str, Any], heed: Heed) -> None:
        """Have the parent run the statement without waiting for it."""
        self._send(name, values)
        self._open.append(heed)
        self.settle(wait=False)

    def settle(self, *, wait: bool) -> None:
        """Heed the answers to what was posted."""
        while self._open and (wait or self.horse.poll(0)):
            heed = self._open.popleft()
            heed(self._answer())

    def _send(self, name: str, values: Mapping[str, Any]) -> None:
        try:
            self.horse.send((name, dict(values)))
        except OSError as gone:
            raise OperationalError("the worker is gone") from gone

    def _answer(self) -> Rows:
        try:
            rows: Rows | None = self.horse.recv()
        except (EOFError, OSError) as gone:
            raise OperationalError("the worker is gone") from gone
        if rows is None:
            raise OperationalError("the worker cannot reach the database")
        return rows

    def serve(self, execute_all: Callable[[Batch], list[Rows]]) -> bool:
        """Run what the horse has sent, together; False when it has hung up. Raises psycopg.Error after telling it."""
        batch: Batch = []
        open_ = True
        try:
            while len(batch) < MOST and (not batch or self.parent.poll(0)):
                batch.append(self.parent.recv())
        except (EOFError, OSError):
            open_ = False
        try:
            answers: list[Rows | None] = list(execute_all(batch)) if batch else []
        except psycopg.Error:
            self._reply([None] * len(batch))
            raise
        self._reply(answers)
        return open_

    def _reply(self, answers: list[Rows | None]) -> None:
        try:
            for rows in answers:
                self.parent.send(rows)
        except OSError:
            return  # the horse is gone; its end is seen elsewhere

    def close(self) -> None:
        """Hang up."""
        self.parent.close()
