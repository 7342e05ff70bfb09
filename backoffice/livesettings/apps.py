from django.apps import AppConfig


class LiveSettingsConfig(AppConfig):
    name = "backoffice.livesettings"
    label = "livesettings"
    verbose_name = "Settings"
