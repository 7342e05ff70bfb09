"""The product's addresses plus a stock admin over the same table, as the peer to measure against."""

from __future__ import annotations

from django.contrib.admin import AdminSite, ModelAdmin
from django.http import HttpRequest
from django.urls import path

from backoffice.urls import urlpatterns as product
from queues.models import Payout


class StockSite(AdminSite):
    """Django's own site; the middleware has already let the person in."""

    def has_permission(self, request: HttpRequest) -> bool:
        return True


class StockPayouts(ModelAdmin):
    """Show the columns, filters and order of our list by the stock means, counts included."""

    list_display = ("reference", "score", "beneficiary", "amount", "currency", "opened_at", "claim_holder", "state")
    list_filter = ("state", "currency")
    search_fields = ("reference", "beneficiary")
    list_select_related = ("claim_holder",)
    list_per_page = 50
    ordering = ("-score", "opened_at", "id")

    def has_module_permission(self, request: HttpRequest) -> bool:
        return True

    def has_view_permission(self, request: HttpRequest, obj: Payout | None = None) -> bool:
        return True


stock = StockSite(name="stock")
stock.register(Payout, StockPayouts)

urlpatterns = [path("stock/", stock.urls), *product]
