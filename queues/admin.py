"""Read-only look-ups of every item, decided ones too. Work happens on the queue pages."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from backoffice import money
from backoffice.lookups import LookupAdmin
from queues import masking
from queues.models import AccountReview, Dispute, Payout


class _WithMoney(LookupAdmin):
    @admin.display(description=_("amount"), ordering="amount")
    def money(self, item: Payout | Dispute) -> str:
        return money.show(item.amount, item.currency)


@admin.register(Payout)
class PayoutLookup(_WithMoney):
    """Look payouts up."""

    list_display = ("reference", "beneficiary", "money", "state", "opened_at")
    list_filter = ("state",)
    search_fields = ("reference__startswith", "beneficiary__startswith")

    def get_fields(self, request: HttpRequest, obj: Payout | None = None) -> Any:
        """Show the account's last four to those who may not see it whole."""
        fields = [name for name in super().get_fields(request, obj) if name != "masked_account"]
        if request.user.has_perm(masking.WHOLE):
            return fields
        return ["masked_account" if name == "account" else name for name in fields]

    def get_readonly_fields(self, request: HttpRequest, obj: Payout | None = None) -> Any:
        return (*super().get_readonly_fields(request, obj), "masked_account")

    @admin.display(description=_("account"))
    def masked_account(self, item: Payout) -> str:
        return masking.mask(item.account)


@admin.register(Dispute)
class DisputeLookup(_WithMoney):
    """Look disputes up."""

    list_display = ("reference", "customer", "money", "reason", "state", "opened_at")
    list_filter = ("state", "reason")
    search_fields = ("reference__startswith", "customer__startswith")


@admin.register(AccountReview)
class AccountReviewLookup(LookupAdmin):
    """Look account reviews up."""

    list_display = ("reference", "holder", "country", "state", "opened_at")
    list_filter = ("state",)
    search_fields = ("reference__startswith", "holder__startswith")
