"""Sign-ins: audited on the platform tenant, and slowed down for an address that keeps failing."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.contrib.auth.forms import AuthenticationForm
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from backoffice import clock
from backoffice.audit import recording
from backoffice.audit.models import AuditEvent
from backoffice.tenants import scope
from backoffice.tenants.models import PLATFORM_ID, Tenant, User

TRIES = 10
WITHIN = timedelta(minutes=15)


def record(*, address: str, user: User | None, locked: bool = False) -> None:
    """Write one sign-in, or one refused, under the address that was typed. A try while locked counts for nothing."""
    with scope.open(Tenant.objects.get(pk=PLATFORM_ID)):
        recording.record(
            actor=address,
            actor_user_id=user.pk if user else None,
            act="person.sign-in",
            outcome=AuditEvent.Outcome.DONE if user else AuditEvent.Outcome.REFUSED,
            code="" if user else "locked" if locked else "wrong-credentials",
            target=_target(address),
        )


def locked_until(*, address: str, now: datetime) -> datetime | None:
    """Return when the address may try again: TRIES failures WITHIN the window lock it till the oldest leaves."""
    with scope.open(Tenant.objects.get(pk=PLATFORM_ID)):
        latest = list(
            recording.timeline(target=_target(address))
            .filter(at__gt=now - WITHIN)
            .exclude(code="locked")
            .values_list("outcome", "at")[:TRIES]
        )
    if len(latest) < TRIES or any(outcome == AuditEvent.Outcome.DONE for outcome, _at in latest):
        return None
    return latest[-1][1] + WITHIN


def _target(address: str) -> str:
    return f"sign-in:{address.strip().lower()}"[:120]


class SignInForm(AuthenticationForm):
    """Refuse an address that failed too often lately before its password is looked at."""

    def clean(self) -> dict[str, object]:
        address = self.cleaned_data.get("username") or ""
        until = locked_until(address=address, now=clock.now()) if address else None
        if until is not None:
            minutes = max(1, round((until - clock.now()).total_seconds() / 60))
            raise ValidationError(
                _("Too many wrong tries for this address. It opens again by itself in %(minutes)d minutes.")
                % {"minutes": minutes},
                code="locked",
            )
        return super().clean()
