from importlib import import_module

from django.apps import AppConfig

# The modules that register commands, whichever page comes first.
_COMMANDS = (
    "acting",
    "answering",
    "challenging",
    "changing_calendar",
    "claiming",
    "demo",
    "due_times",
    "evidence",
    "ingest.loading",
    "ingest.rates",
    "leaving",
    "overriding",
    "saving_views",
    "scoring",
    "sweeping",
)


class QueuesConfig(AppConfig):
    """Human work queues."""

    name = "queues"
    label = "queues"
    verbose_name = "Queues"

    def ready(self) -> None:
        for module in _COMMANDS:
            import_module(f"queues.{module}")
