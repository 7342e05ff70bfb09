"""What a search looks through, beside the items and not among them."""

from __future__ import annotations

from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex, OpClass
from django.db import models
from django.db.models import BooleanField, F, Func
from django.db.models.functions import Upper

from backoffice.tenants.models import TenantModel


class OddCharacters(Func):
    """The characters of a text that make no trigram, or hardly one: all but A to Z, digits and spaces."""

    template = "string_to_array(regexp_replace(upper(%(expressions)s), '[A-Z0-9[:space:]]', '', 'g'), NULL)"
    output_field = ArrayField(models.TextField())

    @classmethod
    def within(cls, text: Any, wanted: Any) -> Func:
        """Say whether a text holds all those that another one has."""
        both = (cls(text), cls(wanted))
        return Func(*both, template="%(expressions)s", arg_joiner=" @> ", output_field=BooleanField())


class SearchText(TenantModel):
    """One item's words and amount, kept by a trigger of the item's table (see `queues.searching.Searchable`).

    It is a table of its own because a claim or a rescore writes a new version of the item's row, and
    each would enter some forty trigrams again; here they are entered once. `words` starts with a
    space, so that every word does; where it has accents, it holds itself without them as well.
    """

    pk = models.CompositePrimaryKey("kind", "item_id")
    kind = models.CharField(max_length=60)
    item_id = models.BigIntegerField()
    words = models.TextField()
    amount = models.DecimalField(max_digits=20, decimal_places=4, null=True)
    currency = models.CharField(max_length=3, blank=True, db_default="")

    class Meta(TenantModel.Meta):
        indexes = [
            GinIndex(
                OpClass(F("tenant"), name="int8_ops"),
                OpClass(Upper("words"), name="gin_trgm_ops"),
                name="queues_search_words",
            ),
            GinIndex(
                OpClass(F("tenant"), name="int8_ops"),
                OpClass(OddCharacters("words"), name="array_ops"),
                name="queues_search_odd",
            ),
            models.Index(
                fields=["tenant", "kind", "amount"],
                condition=models.Q(amount__isnull=False),
                name="queues_search_amount",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind}:{self.item_id}"
