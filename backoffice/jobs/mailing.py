"""Mail the notices where a mail server is named. Called by the scheduler, long after the job's commit."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from smtplib import SMTPException, SMTPRecipientsRefused

import structlog
from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from backoffice.jobs import noticing, statements
from backoffice.jobs.models import Notice
from backoffice.jobs.noticing import Told
from backoffice.jobs.states import JobState
from backoffice.tenants import scope
from backoffice.tenants.models import PLATFORM_SLUG, Membership

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
        waiting = {notice.pk: notice for notice in notices}
        members = _members(waiting.values())
        sent = len(waiting)
        try:
            with get_connection() as server:
                for pk, notice in list(waiting.items()):
                    _send(notice, server, at_home=(notice.tenant_id, notice.person_id) in members)
                    del waiting[pk]
        except (OSError, SMTPException) as error:
            Notice.objects.filter(pk__in=list(waiting)).update(mailed_at=None)
            log.warning("notice.mail-failed", left=len(waiting), error=type(error).__name__)
    return sent - len(waiting)


def _members(notices: Iterable[Notice]) -> set[tuple[int, int]]:
    """Return which of the notices' people may open their tenant's pages, as (tenant, person)."""
    people = {notice.person_id for notice in notices}
    return set(Membership.objects.filter(user__in=people, active=True).values_list("tenant_id", "user_id"))


def _send(notice: Notice, server: BaseEmailBackend, *, at_home: bool) -> None:
    person = notice.person
    if not person.is_active:
        return
    zone = person.time_zone or notice.tenant.time_zone
    with translation.override(person.language or settings.LANGUAGE_CODE), timezone.override(zone):
        try:
            [told] = noticing.tell([notice])
            subject = " ".join((_("%(title)s: %(state)s") % {"title": told.title, "state": told.state}).split())
            body = "\n".join(_lines(told, at_home=at_home))
        except Exception:  # a kind's own words fail: that costs no other notice its mail
            log.exception("notice.without-words", notice=notice.pk, job=notice.job_id)
            return
    try:
        EmailMessage(subject, body, to=[person.email], connection=server).send()
    except SMTPRecipientsRefused:
        log.warning("notice.address-refused", notice=notice.pk)


def _lines(told: Told, *, at_home: bool) -> list[str]:
    notice = told.notice
    where = _("Job %(job)s of %(tenant)s.") % {"job": notice.job_id, "tenant": " ".join(notice.tenant.name.split())}
    if not settings.PUBLIC_URL:
        return [*filter(None, told.words), "", where, _("It is on your page of notices as well.")]
    return [*filter(None, told.words), "", where, _link(told, at_home=at_home)]


def _link(told: Told, *, at_home: bool) -> str:
    """Return the address of the result, or of the job, where this person may look: their tenant, or the platform."""
    notice = told.notice
    result = told.address if at_home and notice.job.state == JobState.SUCCEEDED else ""
    slug = notice.tenant.slug if at_home else PLATFORM_SLUG
    return f"{settings.PUBLIC_URL}/t/{slug}{result or reverse('job', args=[notice.job_id])}"
