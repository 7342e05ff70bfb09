"""Tell the owner of a device what happened to it: on the Codes page always, by e-mail where a server is named."""

from __future__ import annotations

import structlog
from django.conf import global_settings, settings
from django.core.mail import send_mail
from django.db import transaction

from backoffice.tenants.models import User

log = structlog.get_logger(__name__)


def notify_owner(*, person: User, subject: str, text: str) -> None:
    """Mail the owner after the commit; a failing mail server never undoes the act. The audit event is the notice."""
    if not (settings.EMAIL_HOST and global_settings.EMAIL_HOST != settings.EMAIL_HOST):
        return

    def send() -> None:
        try:
            send_mail(subject, text, None, [person.email])
        except OSError:
            log.warning("stepup.mail-failed", person_id=person.pk, exc_info=True)

    transaction.on_commit(send, robust=True)
