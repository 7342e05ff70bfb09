"""Stop a reading session's query from another process."""

from __future__ import annotations

from django.db import connection

_CANCEL = """
SELECT count(*) FILTER (WHERE pg_cancel_backend(pid))
  FROM pg_stat_activity
 WHERE application_name = %s AND datname = current_database() AND usename = session_user
"""


def cancel(*, name: str) -> int:
    """Ask the server to stop the query of every session of this name; return how many it was asked for.

    A cancellation that is wanted for good is written to the database first (a job's request):
    this only ends the waiting, and a session between two queries does not feel it.
    """
    with connection.cursor() as cursor:
        cursor.execute(_CANCEL, [name[:63]])
        return int(cursor.fetchone()[0])
