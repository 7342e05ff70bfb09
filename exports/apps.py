from django.apps import AppConfig


class ExportsConfig(AppConfig):
    name = "exports"
    label = "exports"
    verbose_name = "Exports"
