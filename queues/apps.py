from django.apps import AppConfig


class QueuesConfig(AppConfig):
    name = "queues"
    label = "queues"
    verbose_name = "Queues"
