"""What a search looks through, beside the items and not among them."""

from __future__ import annotations

from django.contrib.postgres.indexes import GinIndex, OpClass
from django.db import models
from django.db.models import F
from django.db.models.functions import Upper

from backoffice.tenants.models import TenantModel


class SearchText(TenantModel):
    """One item's words and amount, kept by a trigger of the item's table (see `queues.searching.Searchable`).

    It is a table of its own because a claim or a rescore writes a new version of the item's row, and
    each would enter some forty trigrams again; here they are entered once. `words` starts with a
    space, so that every word does.
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
            models.Index(
                fields=["tenant", "kind", "amount"],
                condition=models.Q(amount__isnull=False),
                name="queues_search_amount",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind}:{self.item_id}"
