from django.apps import AppConfig


class MoneyConfig(AppConfig):
    name = "queues.money"
    label = "money"
    verbose_name = "Bulk money"

    def ready(self) -> None:
        from backoffice.jobs.looping import periodic
        from queues.money.sweeping import stop_ended_plans

        periodic(name="money.stop-ended-plans", every=5.0)(stop_ended_plans)
