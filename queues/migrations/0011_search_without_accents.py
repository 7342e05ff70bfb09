"""Words are found without their accents; characters that make no trigram get an index of their own.

Not atomic: what stands is filled in batches, each its own transaction, and the index is built beside the work.
"""

import django.contrib.postgres.indexes
from django.contrib.postgres.operations import AddIndexConcurrently, UnaccentExtension
from django.db import migrations, models

import queues.models.search
from queues.searching import Searchable

_BATCH = 10_000


def fill(apps, schema_editor):
    """Enter the words without accents of what was entered before the functions did so."""
    with schema_editor.connection.cursor() as cursor:
        last = ("", 0)
        while True:
            cursor.execute(
                """
                WITH part AS (SELECT kind, item_id, words FROM queues_searchtext WHERE (kind, item_id) > (%s, %s)
                               ORDER BY kind, item_id LIMIT %s),
                     filled AS (UPDATE queues_searchtext AS entry SET words = entry.words || unaccent(entry.words)
                                  FROM part
                                 WHERE entry.kind = part.kind AND entry.item_id = part.item_id
                                   AND unaccent(entry.words) <> entry.words
                                   -- A second run finds the half that the first one added.
                                   AND right(entry.words, length(unaccent(entry.words)) / 2)
                                       <> left(unaccent(entry.words), length(unaccent(entry.words)) / 2))
                SELECT kind, item_id FROM part ORDER BY kind DESC, item_id DESC LIMIT 1
                """,
                [*last, _BATCH],
            )
            found = cursor.fetchone()
            if found is None:
                return
            last = found


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("queues", "0010_twins"),
    ]

    operations = [
        migrations.RunSQL("SET lock_timeout = '10s'", migrations.RunSQL.noop),
        UnaccentExtension(),
        Searchable("queues_payout", "payout", ["reference", "beneficiary"], money=True, again=True),
        Searchable("queues_dispute", "dispute", ["reference", "customer"], money=True, again=True),
        Searchable("queues_accountreview", "accountreview", ["reference", "holder"], again=True),
        Searchable("queues_scorechallenge", "scorechallenge", ["reference", "why"], again=True),
        migrations.RunPython(fill, migrations.RunPython.noop),
        AddIndexConcurrently(
            model_name="searchtext",
            index=django.contrib.postgres.indexes.GinIndex(
                django.contrib.postgres.indexes.OpClass(models.F("tenant"), name="int8_ops"),
                django.contrib.postgres.indexes.OpClass(queues.models.search.OddCharacters("words"), name="array_ops"),
                name="queues_search_odd",
            ),
        ),
        migrations.RunSQL("RESET lock_timeout", migrations.RunSQL.noop),
    ]
