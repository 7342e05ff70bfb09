from django.apps import AppConfig


class MoneyConfig(AppConfig):
    name = "queues.money"
    label = "money"
    verbose_name = "Bulk money"
