from django.apps import AppConfig


class StorageConfig(AppConfig):
    name = "backoffice.storage"
    label = "storage"
    verbose_name = "Storage"

    def ready(self) -> None:
        # The commands register when their modules are imported, and the checks too.
        from backoffice.storage import checks, downloading, expiring  # noqa: F401  (registers them)
