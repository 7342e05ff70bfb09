"""Write a hold's lapse into its item's history when the hold ends late, whoever ends it."""

from __future__ import annotations

from django.db.migrations import RunSQL


class NotesLapses(RunSQL):
    """Let the table's items note each hold that had lapsed when it ended, once (a migration's operation).

    A lapsed hold ends when the sweep frees it, when another takes the item over, and when its holder
    gives it back late or claims it anew. A trigger sees them all; no statement can forget one.
    """

    def __init__(self, table: str, kind: str) -> None:
        self.arguments = (table, kind)
        super().__init__(
            sql=f"""
            CREATE FUNCTION {table}_note_lapse() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                INSERT INTO audit_auditevent
                       (tenant_id, actor, actor_user_id, acting_for, act, outcome, code, target, data)
                VALUES (OLD.tenant_id, 'system:lease', NULL, '', 'item.expire', 'done', '', '{kind}:' || OLD.id,
                        jsonb_build_object('holder', OLD.claim_holder_id, 'token', OLD.claim_token,
                                           'lapsed_at', OLD.lease_until));
                RETURN NULL;
            END $$;
            CREATE TRIGGER {table}_note_lapse AFTER UPDATE ON {table} FOR EACH ROW
                WHEN (OLD.claim_holder_id IS NOT NULL
                      AND OLD.lease_until <= clock_timestamp()
                      AND (NEW.claim_holder_id IS NULL OR NEW.claim_token <> OLD.claim_token))
                EXECUTE FUNCTION {table}_note_lapse();
            """,
            reverse_sql=f"""
            DROP TRIGGER {table}_note_lapse ON {table};
            DROP FUNCTION {table}_note_lapse();
            """,
        )

    def deconstruct(self) -> tuple[str, list[object], dict[str, object]]:
        return (self.__class__.__name__, [*self.arguments], {})
