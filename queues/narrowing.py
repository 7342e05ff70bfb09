"""Turn the filters of the list into one more condition of a statement.

The condition is the one that the list itself compiles, so claim-next never takes what the list would
not show. Every value stays a bound parameter; what is formatted is SQL that the ORM wrote.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.core.exceptions import EmptyResultSet, FullResultSet
from django.db import connection
from django.db.models.sql.where import AND, WhereNode
from psycopg import sql as names

from backoffice.tenants.models import User
from queues import listing
from queues.base import Queue

# What the statements decide by themselves: they take from free items whatever the list shows of claims.
_OWN = {"claim"}
WIDE = names.SQL("")  # no filter


def condition(
    *, queue: Queue, filters: Mapping[str, str], person: User | None = None
) -> tuple[names.Composable, dict[str, Any]]:
    """Return " AND ..." over the queue's table, unaliased, and its parameters; nothing for no filter."""
    wanted = {name: value for name, value in filters.items() if value and name not in _OWN}
    if not wanted:
        return WIDE, {}
    rows = listing.matching(queue=queue, filters=wanted, person=person)
    try:
        text, values = _compiled(queue, rows)
    except FullResultSet:
        return WIDE, {}
    except EmptyResultSet:
        return names.SQL(" AND FALSE"), {}
    bound = {f"filter_{number}": value for number, value in enumerate(values)}
    numbers = iter(bound)
    named = re.sub(r"%[s%]", lambda found: f"%({next(numbers)})s" if found[0] == "%s" else found[0], text)
    return names.SQL(" AND ({})").format(_verbatim(named)), bound


def _compiled(queue: Queue, rows: Any) -> tuple[str, list[Any]]:
    """Compile what the filters add to the plain list; a list over other tables becomes a choice of ids."""
    query = rows.query
    compiler = query.get_compiler(connection=connection)
    if len([alias for alias, count in query.alias_refcount.items() if count]) > 1:
        inner, values = rows.order_by().values("pk").query.get_compiler(connection=connection).as_sql()
        return f"{connection.ops.quote_name(queue.model._meta.db_table)}.id IN ({inner})", list(values)
    plain = listing.matching(queue=queue, filters={}).query.where.children
    added = [child for child in query.where.children if child not in plain]
    text, values = WhereNode(added, AND).as_sql(compiler, connection)
    return text, list(values)


def _verbatim(text: str) -> names.Composable:
    """Wrap SQL of the ORM's, whose braces are its own."""
    return names.SQL(text)
