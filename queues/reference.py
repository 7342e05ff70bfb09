"""An amount as a score's input: in its own currency for people, compared through the tenant's reference rates.

The newest rate that is not after the day counts. A currency without one gives no points and says so;
it is never taken as if it were worth the same as another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from django.db.models import DateField, F, JSONField, TextField, Value
from django.utils import formats
from django.utils.translation import gettext as _

from backoffice import money
from backoffice.tenants import scope
from queues.sources import NUMBER, Field, Written

# Worked out once a statement: it reads nothing of the row.
_NEWEST = """(SELECT coalesce(jsonb_object_agg(newest.currency, newest.found), jsonb_build_object())
                  || jsonb_build_object({1}::text, jsonb_build_object('rate', '1', 'base', {1}::text))
   FROM (SELECT DISTINCT ON (currency) currency,
                jsonb_build_object('rate', trim_scale(rate)::text, 'base', base, 'as_of', as_of, 'source', source)
                    AS found
           FROM queues_referencerate
          WHERE tenant_id = {0} AND base = {1} AND as_of <= {2}
          ORDER BY currency, as_of DESC) AS newest)"""


@dataclass(frozen=True)
class InReference(Field):
    """An amount beside its currency, worth what the tenant's newest reference rate says in the tenant's currency."""

    currency: str = "currency"

    @property
    def fields(self) -> tuple[str, ...]:
        return (self.field, self.currency)

    def unit(self) -> Any:
        return F(self.currency)

    def scale(self, now: datetime) -> Any:
        """Return how many of the item's currency one of the tenant's is worth; null where no rate is known."""
        return Written("({0} -> {1} ->> 'rate')::numeric", _newest(now), F(self.currency), output_field=NUMBER)

    def basis(self, now: datetime) -> Any:
        return Written("{0} -> {1}", _newest(now), F(self.currency), output_field=JSONField())

    def show(self, value: str, unit: str) -> str:
        return money.show(Decimal(value), unit)

    def threshold(self, number: int) -> str:
        return money.show(Decimal(number), scope.current().currency)

    def note(self, stored: Mapping[str, Any], *, today: date | None, stale_days: int) -> str:
        if "basis" not in stored:
            return ""
        if stored["basis"] is None:
            return _("no rate for %(currency)s") % {"currency": stored["unit"]}
        as_of = _day(stored["basis"])
        if today is not None and as_of is not None and (today - as_of).days > stale_days:
            return _("rate of %(day)s is old") % {"day": formats.date_format(as_of, "j M Y")}
        return ""

    def origin(self, stored: Mapping[str, Any]) -> str:
        basis = stored.get("basis")
        if not basis or not (as_of := _day(basis)):
            return ""
        rate = formats.number_format(Decimal(basis["rate"]), use_l10n=True)
        return _("1 %(base)s = %(rate)s %(currency)s, %(source)s of %(day)s") % {
            "base": basis["base"],
            "rate": rate,
            "currency": stored["unit"],
            "source": basis["source"],
            "day": formats.date_format(as_of, "j M Y"),
        }


def today(now: datetime) -> date:
    """Return the day that it is in the open tenant."""
    return now.astimezone(ZoneInfo(scope.current().time_zone)).date()


def _newest(now: datetime) -> Written:
    tenant = scope.current()
    base = Value(tenant.currency, TextField())
    return Written(_NEWEST, Value(tenant.pk), base, Value(today(now), DateField()), output_field=JSONField())


def _day(basis: Mapping[str, Any]) -> date | None:
    text = basis.get("as_of")
    return date.fromisoformat(text) if text else None
