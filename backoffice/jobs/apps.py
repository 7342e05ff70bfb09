from django.apps import AppConfig


class JobsConfig(AppConfig):
    name = "backoffice.jobs"
    label = "jobs"
    verbose_name = "Jobs"

    def ready(self) -> None:
        from backoffice.jobs import looping, mailing

        looping.periodic(name="notices", every=5.0)(mailing.mail_due)
