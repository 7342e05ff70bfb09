from django.apps import AppConfig


class CommandsConfig(AppConfig):
    name = "backoffice.commands"
    label = "commands"
    verbose_name = "Commands"
