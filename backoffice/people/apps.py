from django.apps import AppConfig


class PeopleConfig(AppConfig):
    name = "backoffice.people"
    label = "people"
    verbose_name = "People"

    def ready(self) -> None:
        from backoffice.people import founding, inviting, managing, own_account  # noqa: F401  (registers their commands)
