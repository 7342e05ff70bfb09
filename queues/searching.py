"""What a search looks through: amounts as people write them, and the words that triggers keep in `SearchText`."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

from django.db.migrations import RunSQL

_AMOUNT = re.compile(
    r"(?:(?P<before>[A-Za-z]{3})\s*)?(?P<sum>[0-9][0-9.,' \u00a0\u202f]*)(?:\s*(?P<after>[A-Za-z]{3}))?"
)
_GROUPED = re.compile(r"\d{1,3}(?:[.,]\d{3})+")


def read_amount(text: str) -> tuple[list[Decimal], str]:
    """Read "1900", "1,900.00", "1.900,00" or "EUR 1900" as the amounts it may mean, with its currency or "".

    "1,900" is a thousand and more where commas group, and near two where they are decimal: it means both.
    """
    match = _AMOUNT.fullmatch(text.strip())
    if match is None or (match["before"] and match["after"]):
        return [], ""
    digits = re.sub(r"[' \u00a0\u202f]", "", match["sum"])
    spellings = {_with_point(digits)}
    if _GROUPED.fullmatch(digits) and len(set(digits) & {".", ","}) == 1:
        spellings.add(re.sub(r"[.,]", "", digits))
    try:
        amounts = sorted({Decimal(spelling) for spelling in spellings if spelling})
    except InvalidOperation:
        return [], ""
    storable = [amount for amount in amounts if amount < Decimal(10) ** 16]
    return storable, (match["before"] or match["after"] or "").upper()


def _with_point(digits: str) -> str:
    """Spell the digits with the last separator as the decimal point; "" where a separator repeats at the end."""
    last = max(digits.rfind("."), digits.rfind(","))
    if last < 0:
        return digits
    whole, rest = digits[:last], digits[last + 1 :]
    if digits[last] in whole:
        return re.sub(r"[.,]", "", digits) if _GROUPED.fullmatch(digits) else ""
    return f"{re.sub(r'[.,]', '', whole)}.{rest or '0'}"


class Searchable(RunSQL):
    """Keep the words and the amount of a table's items in `SearchText` (a migration's operation).

    `words` are the columns that the queue's `search` names. What stands in the table is entered at once;
    with `again`, the functions alone are replaced, and what is entered stays.
    """

    def __init__(self, table: str, kind: str, words: list[str], *, money: bool = False, again: bool = False) -> None:
        self.arguments = (table, kind, words, money, again)
        made = _functions(table, kind, words, money)
        super().__init__(
            made if again else made + _triggers(table, kind, words, money), self.noop if again else _gone(table, kind)
        )

    def deconstruct(self) -> tuple[str, list[object], dict[str, object]]:
        table, kind, words, money, again = self.arguments
        return (self.__class__.__name__, [table, kind, words], {"money": money, "again": again})


_INTO = "INSERT INTO queues_searchtext (tenant_id, kind, item_id, words, amount, currency)"


def _entered(words: list[str], row: str = "") -> str:
    """Spell what is entered of a row: its words, and once more without accents where it has any."""
    plain = f"concat_ws(' ', '', {', '.join(f'{row}{name}' for name in words)})"
    return f"{plain} || CASE WHEN unaccent({plain}) <> {plain} THEN unaccent({plain}) ELSE '' END"


def _filled(kind: str, words: list[str], money: bool) -> str:
    amounts = "amount, currency" if money else "NULL, ''"
    return f"SELECT tenant_id, '{kind}', id, {_entered(words)}, {amounts}"


def _functions(table: str, kind: str, words: list[str], money: bool) -> str:
    paid = ", amount = NEW.amount, currency = NEW.currency" if money else ""
    return f"""
    CREATE OR REPLACE FUNCTION {table}_search_new() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        {_INTO} {_filled(kind, words, money)} FROM fresh;
        RETURN NULL;
    END $$;
    CREATE OR REPLACE FUNCTION {table}_search_change() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE queues_searchtext SET words = {_entered(words, "NEW.")}{paid}
         WHERE kind = '{kind}' AND item_id = NEW.id;
        RETURN NULL;
    END $$;
    CREATE OR REPLACE FUNCTION {table}_search_gone() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        DELETE FROM queues_searchtext WHERE kind = '{kind}' AND item_id = OLD.id;
        RETURN NULL;
    END $$;
    """


def _triggers(table: str, kind: str, words: list[str], money: bool) -> str:
    watched = [*words, *(("amount", "currency") if money else ())]
    changed = f"({', '.join(f'OLD.{n}' for n in watched)}) IS DISTINCT FROM ({', '.join(f'NEW.{n}' for n in watched)})"
    return f"""
    CREATE TRIGGER {table}_search_new AFTER INSERT ON {table} REFERENCING NEW TABLE AS fresh
        FOR EACH STATEMENT EXECUTE FUNCTION {table}_search_new();
    CREATE TRIGGER {table}_search_change AFTER UPDATE OF {", ".join(watched)} ON {table}
        FOR EACH ROW WHEN ({changed}) EXECUTE FUNCTION {table}_search_change();
    CREATE TRIGGER {table}_search_gone AFTER DELETE ON {table}
        FOR EACH ROW EXECUTE FUNCTION {table}_search_gone();
    {_INTO} {_filled(kind, words, money)} FROM {table};
    """


def _gone(table: str, kind: str) -> str:
    return f"""
    DROP TRIGGER {table}_search_new ON {table};
    DROP TRIGGER {table}_search_change ON {table};
    DROP TRIGGER {table}_search_gone ON {table};
    DROP FUNCTION {table}_search_new();
    DROP FUNCTION {table}_search_change();
    DROP FUNCTION {table}_search_gone();
    DELETE FROM queues_searchtext WHERE kind = '{kind}';
    """
