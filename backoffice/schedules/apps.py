from django.apps import AppConfig


class SchedulesConfig(AppConfig):
    name = "backoffice.schedules"
    label = "schedules"
    verbose_name = "Schedules"

    def ready(self) -> None:
        from django.core.checks import register

        from backoffice.jobs import looping
        from backoffice.schedules import tending
        from backoffice.schedules.base import check_zone_data

        register(check_zone_data)
        looping.periodic(name="schedules", every=0.25)(tending.tend)
