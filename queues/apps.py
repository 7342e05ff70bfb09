from django.apps import AppConfig


class QueuesConfig(AppConfig):
    """Human work queues. Its commands register when the app is ready, whichever page comes first."""

    name = "queues"
    label = "queues"
    verbose_name = "Queues"

    def ready(self) -> None:
        from queues import acting, claiming, demo, scoring, sweeping  # noqa: F401  (registers their commands)
        from queues.ingest import loading, rates  # noqa: F401  (the same)
