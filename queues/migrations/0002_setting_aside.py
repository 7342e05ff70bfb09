import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import F, Q

from backoffice.sql import TenantRowSecurity


class Migration(migrations.Migration):
    dependencies = [
        ("queues", "0001_initial"),
        ("tenants", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="ItemSkip",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("model", models.CharField(max_length=40)),
                ("item", models.BigIntegerField()),
                ("until", models.DateTimeField()),
                (
                    "person",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
            ],
            options={
                "abstract": False,
                "base_manager_name": "objects",
                "indexes": [models.Index(fields=["until"], name="queues_skip_until")],
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "person", "model", "item"), name="queues_one_skip")
                ],
            },
        ),
        TenantRowSecurity("queues_itemskip"),
        migrations.AddIndex(
            "payout",
            models.Index(
                F("tenant"),
                F("snoozed_until"),
                condition=Q(state="pending") & Q(snoozed_until__isnull=False),
                name="payout_asleep",
            ),
        ),
        migrations.AddIndex(
            "dispute",
            models.Index(
                F("tenant"),
                F("snoozed_until"),
                condition=Q(state="open") & Q(snoozed_until__isnull=False),
                name="dispute_asleep",
            ),
        ),
        migrations.AddIndex(
            "accountreview",
            models.Index(
                F("tenant"),
                F("snoozed_until"),
                condition=Q(state="open") & Q(snoozed_until__isnull=False),
                name="review_asleep",
            ),
        ),
        migrations.AddIndex(
            "payout", models.Index(fields=["tenant", "beneficiary", "-id"], name="payout_same_beneficiary")
        ),
        migrations.AddIndex("payout", models.Index(fields=["tenant", "account", "-id"], name="payout_same_account")),
        migrations.AddIndex(
            "dispute", models.Index(fields=["tenant", "customer", "-id"], name="dispute_same_customer")
        ),
        migrations.AddIndex(
            "accountreview", models.Index(fields=["tenant", "holder", "-id"], name="review_same_holder")
        ),
    ]
