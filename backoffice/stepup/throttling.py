"""Slow down guessing: tries count before they are judged, and a lock ends by itself.

The third failure in a row costs 5 seconds, the fourth 10; from the limit on (`stepup.tries`) each
costs `stepup.lock_minutes`, doubled each time, at most a day. Only a success resets the count.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from django.db import connection
from django.utils.translation import gettext as _

from backoffice import livesettings
from backoffice.errors import Refusal
from backoffice.sql import read
from backoffice.stepup.models import Throttle
from backoffice.tenants import scope
from backoffice.tenants.models import User

CODE, ENROLMENT = "code", "enrolment"
_RESERVE = Path(__file__).parent / "sql" / "reserve_try.sql"


@dataclass(frozen=True)
class Try:
    """A reserved try: how many failures it makes if it fails, how many are left, when the next may come."""

    failures: int
    left: int
    next_allowed_at: datetime


def reserve(*, person: User, purpose: str) -> Try:
    """Count one try, or refuse it as "locked" naming the instant it ends. Its row stays locked until commit."""
    tries = livesettings.get("stepup.tries")
    with connection.cursor() as cursor:
        cursor.execute(
            read(_RESERVE),
            {
                "tenant": scope.current().pk,
                "person": person.pk,
                "purpose": purpose,
                "tries": tries,
                "lock": livesettings.get("stepup.lock_minutes") * 60,
            },
        )
        row = cursor.fetchone()
    if row is None:
        until = Throttle.objects.get(person=person, purpose=purpose).next_allowed_at
        raise Refusal("locked", locked_words(person=person, until=until))
    return Try(failures=row[0], left=max(tries - row[0], 0), next_allowed_at=row[1])


def clear(*, person: User, purpose: str) -> None:
    """Forget the failures: this try was right."""
    Throttle.objects.filter(person=person, purpose=purpose).update(failures=0)


def locked_words(*, person: User, until: datetime) -> str:
    """Say in the person's own time when the next try is allowed."""
    local = until.astimezone(ZoneInfo(person.zone))
    return _("Too many wrong tries. The next one is allowed at %(time)s (%(zone)s); nothing else is needed.") % {
        "time": local.strftime("%Y-%m-%d %H:%M:%S"),
        "zone": person.zone,
    }
