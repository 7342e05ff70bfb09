from django.apps import AppConfig


class JobsConfig(AppConfig):
    name = "backoffice.jobs"
    label = "jobs"
    verbose_name = "Jobs"
