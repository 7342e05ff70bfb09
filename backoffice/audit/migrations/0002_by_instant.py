from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    """Find what happened within a span of time; built beside the writers, whom it does not hold up."""

    atomic = False

    dependencies = [('audit', '0001_initial')]

    operations = [
        migrations.RunSQL("SET lock_timeout = '10s'", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name='auditevent', index=models.Index(fields=['tenant', 'at'], name='audit_by_instant')
        ),
        migrations.RunSQL("RESET lock_timeout", migrations.RunSQL.noop),
    ]
