"""A read-only look-up of the audit trail."""

from __future__ import annotations

from django.contrib import admin

from backoffice.audit.models import AuditEvent
from backoffice.lookups import LookupAdmin


@admin.register(AuditEvent)
class AuditEventLookup(LookupAdmin):
    """Look acts up: who did what to what, and what was refused."""

    list_display = ("at", "actor", "act", "target", "outcome", "code")
    list_filter = ("outcome",)
    search_fields = ("target__exact", "actor__exact", "act__exact")
    search_help_text = "target (payout:17), actor or act, whole"
