"""The statements of `sql/`, and the connection they run on.

Each changes the record alone, conditionally, by the database's clock. The work-horse and the web run
them on Django's connection; the worker's parent on one of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import psycopg
from django.db import connection
from psycopg.rows import dict_row

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


def prepared_on_django(name: str, values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Run the statement as `on_django` does, bound by the server and prepared; return rows by column name.

    For what is called often enough that planning it anew, which is what Django's own cursors do,
    would cost more than running it. Its parameters name their types.
    """
    connection.ensure_connection()
    connection.validate_no_broken_transaction()
    opened = connection.connection
    with connection.wrap_database_errors, psycopg.Cursor(opened, row_factory=dict_row) as cursor:
        kept, opened.prepare_threshold = opened.prepare_threshold, 0  # None, Django's, would refuse to prepare
        try:
            cursor.execute(text(name).encode(), values)
            return cursor.fetchall()
        finally:
            opened.prepare_threshold = kept


def storable(words: object, *, longest: int = LONGEST_REASON) -> str:
    """Return the words as text that PostgreSQL can hold: no NUL, no lone surrogate, not too long."""
    return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", str(words))[:longest]
