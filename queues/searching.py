"""Find items by what a person types: a piece of the reference or of the party, or an amount.

The words stand in `SearchText`, under an index of trigrams that begins with the tenant. One or two
letters make no trigram: they are looked for where words begin, which the index can answer. A text that few
items hold is answered by their ids; for a common one the list is walked until the page is full.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

from django.db.migrations import RunSQL
from django.db.models import BooleanField, ExpressionWrapper, OuterRef, Q, Subquery, Value
from django.db.models.lookups import Exact

from queues.models.item import QueueItem
from queues.models.search import SearchText

FEW = 5_000  # matches up to which they are found before the list is walked

_AMOUNT = re.compile(
    r"(?:(?P<before>[A-Za-z]{3})\s*)?(?P<sum>[0-9][0-9.,' \u00a0\u202f]*)(?:\s*(?P<after>[A-Za-z]{3}))?"
)
_GROUPED = re.compile(r"\d{1,3}(?:[.,]\d{3})+")


def found(*, model: type[QueueItem], text: str) -> Q:
    """Return the condition of the model's items that the text finds, in the open tenant."""
    asked = Q(words__icontains=text) if len(text) > 2 else Q(words__icontains=f" {text}")
    amounts, currency = read_amount(text)
    if amounts:
        paid = Q(amount__in=amounts)
        asked |= paid & Q(currency=currency) if currency else paid
    rows = SearchText.objects.filter(kind=model._meta.model_name)
    ids = list(rows.filter(asked).values_list("item_id", flat=True)[: FEW + 1])
    if len(ids) <= FEW:
        return Q(pk__in=ids)
    # A common word: walk the list and look at each item's words. A plain subquery would be joined first.
    return Q(
        Exact(
            Subquery(
                rows.filter(item_id=OuterRef("pk"))
                .annotate(hit=ExpressionWrapper(asked, output_field=BooleanField()))
                .values("hit")
            ),
            Value(True),
        )
    )


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

    `words` are the columns that the queue's `search` names. What stands in the table is entered at once.
    """

    def __init__(self, table: str, kind: str, words: list[str], *, money: bool = False) -> None:
        self.arguments = (table, kind, words, money)
        names = ", ".join(words)
        amounts = ("amount", "currency") if money else ("NULL", "''")
        filled = f"'{kind}', id, concat_ws(' ', '', {names}), {amounts[0]}, {amounts[1]}"
        watched = [*words, *(("amount", "currency") if money else ())]
        changed = (
            f"({', '.join(f'OLD.{n}' for n in watched)}) IS DISTINCT FROM ({', '.join(f'NEW.{n}' for n in watched)})"
        )
        new = [f"NEW.{name}" for name in words]
        paid = ", amount = NEW.amount, currency = NEW.currency" if money else ""
        into = "INSERT INTO queues_searchtext (tenant_id, kind, item_id, words, amount, currency)"
        super().__init__(
            sql=f"""
            CREATE FUNCTION {table}_search_new() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                {into} SELECT tenant_id, {filled} FROM fresh;
                RETURN NULL;
            END $$;
            CREATE FUNCTION {table}_search_change() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                UPDATE queues_searchtext SET words = concat_ws(' ', '', {", ".join(new)}){paid}
                 WHERE kind = '{kind}' AND item_id = NEW.id;
                RETURN NULL;
            END $$;
            CREATE FUNCTION {table}_search_gone() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                DELETE FROM queues_searchtext WHERE kind = '{kind}' AND item_id = OLD.id;
                RETURN NULL;
            END $$;
            CREATE TRIGGER {table}_search_new AFTER INSERT ON {table} REFERENCING NEW TABLE AS fresh
                FOR EACH STATEMENT EXECUTE FUNCTION {table}_search_new();
            CREATE TRIGGER {table}_search_change AFTER UPDATE OF {", ".join(watched)} ON {table}
                FOR EACH ROW WHEN ({changed}) EXECUTE FUNCTION {table}_search_change();
            CREATE TRIGGER {table}_search_gone AFTER DELETE ON {table}
                FOR EACH ROW EXECUTE FUNCTION {table}_search_gone();
            {into} SELECT tenant_id, {filled} FROM {table};
            """,
            reverse_sql=f"""
            DROP TRIGGER {table}_search_new ON {table};
            DROP TRIGGER {table}_search_change ON {table};
            DROP TRIGGER {table}_search_gone ON {table};
            DROP FUNCTION {table}_search_new();
            DROP FUNCTION {table}_search_change();
            DROP FUNCTION {table}_search_gone();
            DELETE FROM queues_searchtext WHERE kind = '{kind}';
            """,
        )

    def deconstruct(self) -> tuple[str, list[object], dict[str, object]]:
        table, kind, words, money = self.arguments
        return (self.__class__.__name__, [table, kind, words], {"money": money})
