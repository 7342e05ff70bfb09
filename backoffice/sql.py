"""SQL kept in files, and the migration operations that make the database the floor."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.migrations import RunSQL
from psycopg.rows import tuple_row

APP_ROLE = "backoffice_app"
REPORTING_ROLE = "backoffice_reporting"


@cache
def read(file: Path) -> str:
    """Read one SQL file. What varies in it is a bound parameter, never formatted text."""
    return file.read_text(encoding="utf-8")


def prepared(text: str, values: Mapping[str, Any], *, rows: Any = tuple_row) -> list[Any]:
    """Run a statement in the transaction open on Django's connection, bound by the server and prepared.

    For what runs so often that planning it anew, as Django's own cursors do, would cost more than running
    it; its text must be one of few. Return the rows (`rows` makes each), none for a statement without rows.
    """
    django = connections[DEFAULT_DB_ALIAS]
    django.ensure_connection()
    django.validate_no_broken_transaction()
    opened = django.connection
    with django.wrap_database_errors, psycopg.Cursor(opened, row_factory=rows) as cursor:
        kept, opened.prepare_threshold = opened.prepare_threshold, 0  # None, Django's, would refuse to prepare
        try:
            cursor.execute(text.encode(), values)
        finally:
            opened.prepare_threshold = kept
        return cursor.fetchall() if cursor.pgresult and cursor.pgresult.nfields else []


class TenantRowSecurity(RunSQL):
    """Let the app's role pass, and hold the reporting role to the transaction's tenant.

    The policy reads `backoffice.tenant`, which `backoffice.reading` sets for one transaction.
    """

    def __init__(self, table: str) -> None:
        self.table = table
        super().__init__(
            sql=f"""
            ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;
            ALTER TABLE {table} FORCE ROW LEVEL SECURITY;
            CREATE POLICY app_rows ON {table} TO {APP_ROLE}, CURRENT_USER USING (true) WITH CHECK (true);
            CREATE POLICY reporting_rows ON {table} FOR SELECT TO {REPORTING_ROLE}
                USING (tenant_id = nullif(current_setting('backoffice.tenant', true), '')::bigint);
            GRANT SELECT ON {table} TO {REPORTING_ROLE};
            """,
            reverse_sql=f"""
            REVOKE SELECT ON {table} FROM {REPORTING_ROLE};
            DROP POLICY reporting_rows ON {table};
            DROP POLICY app_rows ON {table};
            ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY;
            ALTER TABLE {table} DISABLE ROW LEVEL SECURITY;
            """,
        )

    def deconstruct(self) -> tuple[str, list[str], dict[str, str]]:
        return (self.__class__.__name__, [self.table], {})


class Immutable(RunSQL):
    """Refuse UPDATE of a table's rows, and DELETE as well unless `deletable`, whoever asks."""

    def __init__(self, table: str, *, deletable: bool = False) -> None:
        self.table = table
        self.deletable = deletable
        acts = "UPDATE" if deletable else "UPDATE OR DELETE"
        revoked = "UPDATE" if deletable else "UPDATE, DELETE, TRUNCATE"
        super().__init__(
            sql=f"""
            CREATE OR REPLACE FUNCTION {table}_is_immutable() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                RAISE EXCEPTION '% of {table} is refused: its rows never change', TG_OP
                    USING ERRCODE = 'insufficient_privilege';
            END $$;
            CREATE TRIGGER {table}_is_immutable BEFORE {acts} ON {table}
                FOR EACH ROW EXECUTE FUNCTION {table}_is_immutable();
            REVOKE {revoked} ON {table} FROM {APP_ROLE};
            """,
            reverse_sql=f"""
            GRANT {revoked} ON {table} TO {APP_ROLE};
            DROP TRIGGER {table}_is_immutable ON {table};
            DROP FUNCTION {table}_is_immutable();
            """,
        )

    def deconstruct(self) -> tuple[str, list[str], dict[str, bool]]:
        return (self.__class__.__name__, [self.table], {"deletable": self.deletable})
