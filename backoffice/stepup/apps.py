from django.apps import AppConfig


class StepUpConfig(AppConfig):
    name = "backoffice.stepup"
    label = "stepup"
    verbose_name = "Step-up codes"

    def ready(self) -> None:
        from backoffice.stepup import checks  # noqa: F401  (registers the check of FIELD_KEY)
