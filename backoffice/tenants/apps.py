from django.apps import AppConfig


class TenantsConfig(AppConfig):
    name = "backoffice.tenants"
    label = "tenants"
    verbose_name = "Tenants and people"

    def ready(self) -> None:
        from backoffice.tenants import login_check  # noqa: F401  (registers the checks of the database login)
