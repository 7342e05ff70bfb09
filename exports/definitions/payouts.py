"""The payouts export."""

from __future__ import annotations

from typing import ClassVar

from django.utils.translation import gettext_lazy as _
from import_export.resources import ModelResource

import exports
from exports.base import Audit, Export, Pages
from exports.bounds import Bounds
from exports.filters import Choice, Currency, Days
from queues.models import Payout


class PayoutResource(ModelResource):
    """What each row of the file says of a payout."""

    class Meta:
        model = Payout
        fields = (
            "id",
            "reference",
            "state",
            "beneficiary",
            "account",
            "amount",
            "currency",
            "description",
            "opened_at",
            "score",
        )
        export_order = fields


@exports.register
class PayoutExport(Export):
    """Payouts with payee and account, for reconciliation outside this product."""

    name = "payouts"
    title = _("Payouts")
    need = _("Finance operations reconcile payouts against the bank's statement, each month and on demand.")
    resource = PayoutResource
    contract = (
        "id: integer",
        "reference: text",
        "state: text",
        "beneficiary: text",
        "account: text",
        "amount: decimal",
        "currency: text",
        "description: text",
        "opened_at: instant",
        "score: integer",
    )
    filters = (
        Choice("state", _("State"), choices=tuple(Payout.State.choices)),
        Currency("currency", _("Currency")),
        Days("opened_at", _("Opened"), name="opened"),
    )
    permission = "queues.view_payout"
    sensitive, whole = ("account",), "queues.view_sensitive"
    amounts: ClassVar = {"amount": "currency"}
    contact = "finance-operations"
    audit = Audit(reason="bulk read of payee data", target="exports")
    paging = Pages(size=10_000)
    bounds = Bounds(
        rows="exports.payouts.max_rows",
        seconds="exports.payouts.max_seconds",
        megabytes="exports.payouts.max_megabytes",
        concurrent="exports.payouts.max_concurrent",
        lifetime_hours="exports.payouts.lifetime_hours",
    )
    request_budget = "exports.payouts.request_budget"
