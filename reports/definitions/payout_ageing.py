"""The payout ageing report."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.utils.translation import gettext_lazy as _

import reports
from exports.base import Audit
from exports.columns import Column, Kind
from exports.filters import Day, Days, start_of
from queues.models import Payout
from reports.base import Need, Plot, Report, ReportBounds


@reports.register
class PayoutAgeing(Report):
    """What is owed and not yet paid, by how long it has waited.

    Ages count to the chosen day; states are those of the moment of reading.
    """

    name = "payout-ageing"
    title = _("Payout ageing")
    need = Need(
        report=_("Unsettled payouts by age, currency and state; finance operations chase the oldest each week."),
        volume=_("200,000 unsettled payouts of one tenant beside 50,000 of another."),
        plan=_(
            "One pass over the tenant's payouts and one aggregate: it reads every unsettled row, so no index of the"
            " lists can serve it within a page's time."
        ),
        latency=timedelta(seconds=30),
        maximum=_("4 ages times currencies times 3 states: a few hundred rows."),
        operator="finance-operations",
    )
    sql = "payout_ageing.sql"
    columns = (
        Column("days_old", Kind.TEXT),
        Column("currency", Kind.TEXT),
        Column("state", Kind.TEXT),
        Column("payouts", Kind.INTEGER),
        Column("total", Kind.DECIMAL),
        Column("oldest_days", Kind.INTEGER),
    )
    parameters = (Day("as_of", _("Ages as of")), Days("opened_at", _("Opened"), name="opened", required=True))
    permission = "queues.view_payout"
    contact = "finance-operations"
    audit = Audit(reason="totals of payee money for a period", target="reports")
    bounds = ReportBounds(
        days="reports.payout-ageing.max_days",
        rows="reports.payout-ageing.max_rows",
        seconds="reports.payout-ageing.max_seconds",
        megabytes="reports.payout-ageing.max_megabytes",
        concurrent="reports.payout-ageing.max_concurrent",
        lifetime_hours="reports.payout-ageing.lifetime_hours",
    )
    plot = Plot(_("Payouts by days waited"), label="days_old", value="payouts")

    def bind(self, values: Mapping[str, Any], *, zone: ZoneInfo) -> dict[str, Any]:
        first, last = self.range_of(values)
        return {
            "as_of": values["as_of"],
            "states": [Payout.State.PENDING.value, Payout.State.HELD.value, Payout.State.APPROVED.value],
            "opened_from": start_of(first, zone=zone),
            "opened_before": start_of(last + timedelta(days=1), zone=zone),
        }

    def range_of(self, values: Mapping[str, Any]) -> tuple[date, date]:
        # A payout that was opened after the day has no age on it.
        return values["opened_from"], min(values["opened_to"], values["as_of"])

    def defaults(self, *, today: date) -> dict[str, Any]:
        return {"as_of": today, "opened_from": today - timedelta(days=3_650), "opened_to": today}
