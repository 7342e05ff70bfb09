"""The product's addresses plus a stock admin over the same table, as the peer to measure against."""

from __future__ import annotations

from django.contrib.admin import AdminSite, ModelAdmin
from django.db.models import F, FloatField, IntegerField, QuerySet
from django.db.models.functions import Cast, Extract, Least, Now
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


class ComputedPayouts(StockPayouts):
    """Order by a score that the query computes from the amount and the age, as a report of the day would."""

    ordering = ("-computed", "opened_at", "id")
    list_display = ("reference", "computed", *StockPayouts.list_display[2:])

    def get_queryset(self, request: HttpRequest) -> QuerySet[Payout]:
        days = Extract(Now() - F("opened_at"), "epoch") / 86400
        points = Least(F("amount") * 50 / 10_000, 50, output_field=FloatField()) + Least(days * 5, 50.0)
        return Payout.objects.annotate(computed=Cast(points, IntegerField()))

    def computed(self, payout: Payout) -> int:
        return payout.computed  # type: ignore[attr-defined]  # annotated above


stock = StockSite(name="stock")
stock.register(Payout, StockPayouts)
computed = StockSite(name="computed")
computed.register(Payout, ComputedPayouts)

urlpatterns = [path("stock/", stock.urls), path("computed/", computed.urls), *product]
