from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig


class BackofficeConfig(AppConfig):
    """The platform itself: commands of `manage.py`, checks, and the discovery of definitions."""

    name = "backoffice"
    label = "backoffice"

    def ready(self) -> None:
        from backoffice import checks  # noqa: F401  (registers the system checks)
        from backoffice.registry import autodiscover

        autodiscover()


class BackofficeAdminConfig(AdminConfig):
    """Django's admin with our site in place of the stock one."""

    default_site = "backoffice.site.BackofficeSite"
