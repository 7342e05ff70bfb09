"""The stock admin's pages as read-only look-ups: commands own every change, so no form here saves."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ChangeList
from django.core.paginator import Paginator
from django.db import DataError
from django.db.models import Model
from django.http import HttpRequest
from django.utils.functional import cached_property

COUNTED = 10_000


class CappedPaginator(Paginator):
    """Count no further than `COUNTED` rows: a look-up needs no exact total of a million."""

    @cached_property
    def count(self) -> int:
        rows: Any = self.object_list
        return rows.order_by()[:COUNTED].count()


class LookupAdmin(admin.ModelAdmin):
    """List and show rows of the open tenant to those who may view them; add, change and delete nothing."""

    paginator = CappedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    list_per_page = 50
    list_max_show_all = 0
    actions = None
    list_display_links: tuple[str, ...] | None = None

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        """Build the list; a value in the address that no column can be compared with is said, not a broken page."""
        try:
            return super().get_changelist_instance(request)
        except (ValueError, OverflowError, DataError) as error:
            raise IncorrectLookupParameters from error

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False
