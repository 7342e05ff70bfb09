"""Mail an invitation's link where a mail server is named, after the invitation's commit."""

from __future__ import annotations

from smtplib import SMTPException

import structlog
from django.conf import settings
from django.core.mail import EmailMessage
from django.utils import formats, timezone, translation
from django.utils.translation import gettext as _

from backoffice.people.models import Invitation
from backoffice.tenants.models import User

log = structlog.get_logger(__name__)


def possible() -> bool:
    """Say whether mail goes out at all here."""
    return bool(settings.EMAIL_HOST)


def send_invitation(*, invitation: Invitation, link: str) -> bool:
    """Mail the link to the invited address and say whether the mail server took it.

    The text is plain and names nothing but the company, the roles and who invites. A failing server
    undoes nothing: the page shows the link as well.
    """
    if not possible():
        return False
    known = User.objects.filter(email__iexact=invitation.email).first()
    language = (known.language if known else "") or translation.get_language()
    with translation.override(language), timezone.override(invitation.tenant.time_zone):
        message = _message(invitation, link)
    try:
        return message.send() == 1
    except (OSError, SMTPException) as error:
        log.warning("invitation.mail-failed", invitation=invitation.pk, error=type(error).__name__)
        return False


def _message(invitation: Invitation, link: str) -> EmailMessage:
    by = invitation.invited_by
    words = {
        "who": _line(str(by)),
        "address": by.email,
        "company": _line(invitation.tenant.name),
        "roles": ", ".join(invitation.roles),
        "until": formats.date_format(timezone.localtime(invitation.expires_at), "j M Y, H:i T"),
    }
    lines = [
        _("%(who)s (%(address)s) invites you to join %(company)s in Backoffice as %(roles)s.") % words,
        "",
        _("Open this link to join:"),
        link,
        "",
        _("It serves once, until %(until)s. If you did not expect it, ignore this message.") % words,
    ]
    subject = _("%(who)s invites you to join %(company)s") % words
    return EmailMessage(subject, "\n".join(lines), to=[invitation.email], reply_to=[by.email])


def _line(text: str) -> str:
    """Write a name on one line: names are typed by people, and a header ends with its line."""
    return " ".join(text.split())
