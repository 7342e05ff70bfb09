from django.apps import AppConfig


class AuditConfig(AppConfig):
    name = "backoffice.audit"
    label = "audit"
    verbose_name = "Audit"
