"""The statements of `sql/`, and the connection they run on.

Each changes the record alone, conditionally, by the database's clock. The work-horse and the web run
them on Django's connection; the worker's parent on one of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from django.db import connection

from backoffice import sql

_FOLDER = Path(__file__).parent / "sql"
MOVES = ("steps", "states", "settles", "events")  # the lists that `report_steps` and `settle` take, one item a move
LONGEST_REASON = 500
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")

Rows = list[tuple[Any, ...]]
Execute = Callable[[str, Mapping[str, Any]], Rows]


def text(name: str) -> str:
    """Return the statement of this name."""
    return sql.read(_FOLDER / f"{name}.sql")


def on_django(name: str, values: Mapping[str, Any]) -> Rows:
    """Run the statement on Django's connection, in the transaction that is open there, if any."""
    with connection.cursor() as cursor:
        cursor.execute(text(name), values)
        return cursor.fetchall() if cursor.description is not None else []


def storable(words: object, *, longest: int = LONGEST_REASON) -> str:
    """Return the words as text that PostgreSQL can hold: no NUL, no lone surrogate, not too long."""
    return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", str(words))[:longest]
