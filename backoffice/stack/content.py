"""What the database has to hold before the first page: its tables, and the demo where it belongs."""

from __future__ import annotations

import io
from pathlib import Path

from backoffice.stack.problems import StackProblem


def prepare(data: Path) -> str:
    """Migrate, make the demo on the first run, and return what to tell about its accounts.

    The owner's connection is used for migrations only. All connections are closed at the end.
    """
    from django.conf import settings
    from django.core.management import CommandError
    from django.db import Error, connections

    try:
        _migrate()
        if not settings.DEMO:
            return ""
        seeded = data / "seeded"
        # A database of one's own may be another one each time, so it is looked at each time.
        if not settings.EMBEDDED_DATABASE or not seeded.exists():
            _call("demo", "seed")
            seeded.touch()
        return _call("demo", "accounts")
    except (CommandError, Error) as problem:
        said = str(problem).strip().splitlines()
        raise StackProblem(f"The database could not be prepared: {said[0] if said else problem!r}") from problem
    finally:
        connections.close_all()


def _migrate() -> None:
    from django.db import connections
    from django.db.migrations.executor import MigrationExecutor

    executor = MigrationExecutor(connections["owner"])
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        _call("migrate", database="owner", interactive=False, verbosity=0)


def _call(name: str, *arguments: str, **options: object) -> str:
    from django.core.management import call_command

    said = io.StringIO()
    call_command(name, *arguments, stdout=said, **options)
    return said.getvalue()
