from django.apps import AppConfig


class TenantsConfig(AppConfig):
    name = "backoffice.tenants"
    label = "tenants"
    verbose_name = "Tenants and people"
