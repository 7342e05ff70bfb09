from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    """Find what looks like the same thing twice; built beside the writers, whom it does not hold up."""

    atomic = False

    dependencies = [('queues', '0009_bulk_and_sharing')]

    operations = [
        migrations.RunSQL("SET lock_timeout = '10s'", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name='dispute',
            index=models.Index(condition=models.Q(('state', 'open')), fields=['tenant', 'customer', 'amount', 'currency', 'opened_at'], name='dispute_twins'),
        ),
        AddIndexConcurrently(
            model_name='payout',
            index=models.Index(condition=models.Q(('state', 'pending')), fields=['tenant', 'account', 'amount', 'currency', 'opened_at'], name='payout_twins'),
        ),
        migrations.RunSQL("RESET lock_timeout", migrations.RunSQL.noop),
    ]
