"""Mail the notices where a mail server is named. Called by the scheduler, long after the job's commit."""

from __future__ import annotations

from datetime import timedelta
from smtplib import SMTPException, SMTPRecipientsRefused

import structlog
from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.utils.translation import gettext as _

from backoffice.jobs import noticing, statements
from backoffice.jobs.models import Notice
from backoffice.jobs.noticing import Told
from backoffice.tenants import scope

log = structlog.get_logger(__name__)

BATCH = 50
NEWS = timedelta(hours=24)


def mail_due() -> int:
    """Mail what has not been mailed; return how many went. A notice is mailed once, or not at all.

    What a silent mail server did not take is tried again while it is news.
    """
    if not settings.EMAIL_HOST:
        return 0
    with scope.unscoped(reason="the scheduler mails the notices of all tenants"):
        taken = [row[0] for row in statements.on_django("mail_due", {"limit": BATCH, "newest": NEWS})]
        if not taken:
            return 0
        notices = Notice.objects.filter(pk__in=taken).select_related("tenant", "job", "person").order_by("pk")
        waiting = {told.notice.pk: told for told in noticing.tell(list(notices))}
        sent = len(waiting)
        try:
            with get_connection() as server:
                for pk, told in list(waiting.items()):
                    _send(told, server)
                    del waiting[pk]
        except (OSError, SMTPException) as error:
            Notice.objects.filter(pk__in=list(waiting)).update(mailed_at=None)
            log.warning("notice.mail-failed", left=len(waiting), error=type(error).__name__)
    return sent - len(waiting)


def _send(told: Told, server: BaseEmailBackend) -> None:
    notice = told.notice
    if not notice.person.is_active:
        return
    subject = _("%(title)s: %(state)s") % {"title": told.title, "state": told.state}
    where = _("Job %(job)s of %(tenant)s.") % {"job": notice.job_id, "tenant": notice.tenant.name}
    lines = [*filter(None, told.words), "", where, _("It is on your page of notices as well.")]
    to = [notice.person.email]
    try:
        EmailMessage(" ".join(subject.split()), "\n".join(lines), to=to, connection=server).send()
    except SMTPRecipientsRefused:
        log.warning("notice.address-refused", notice=notice.pk)
