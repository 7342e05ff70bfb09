from django.apps import AppConfig


class PeopleConfig(AppConfig):
    name = "backoffice.people"
    label = "people"
    verbose_name = "People"
