"""How instants, spans and money are written on every page: `{% load show %}`."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal

from django import template
from django.utils import formats, timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import ngettext

from backoffice import clock
from backoffice import money as amounts

register = template.Library()


@register.filter
def when(instant: datetime | None) -> str | SafeString:
    """Write an instant in the active time zone: the time today, the date otherwise; the zone in the title."""
    return _stamp(instant, short=True)


@register.filter
def moment(instant: datetime | None) -> str | SafeString:
    """Write an instant with its date and time in the active time zone; the zone in the title."""
    return _stamp(instant, short=False)


@register.filter
def spaced(name: str) -> str:
    """Write a column's name as words: "days_old" is "days old"."""
    return name.replace("_", " ")


@register.filter
def clock_time(instant: datetime | None) -> str | SafeString:
    """Write an instant's time of day in the active time zone, for what ends today."""
    if instant is None:
        return ""
    return _tag(instant, formats.time_format(timezone.localtime(instant), "H:i"))


@register.filter
def age(instant: datetime | None) -> str | SafeString:
    """Write how long ago an instant was in one unit ("3 hours"); the instant in the title."""
    if instant is None:
        return ""
    return _tag(instant, span(clock.now() - instant))


@register.filter
def span(length: timedelta | None) -> str:
    """Write a length of time in its largest unit: "45 seconds", "3 hours", "12 days"."""
    if length is None:
        return ""
    seconds = max(0, int(length.total_seconds()))
    if seconds < 60:
        return ngettext("%d second", "%d seconds", seconds) % seconds
    if seconds < 3600:
        return ngettext("%d minute", "%d minutes", seconds // 60) % (seconds // 60)
    if seconds < 48 * 3600:
        return ngettext("%d hour", "%d hours", seconds // 3600) % (seconds // 3600)
    days = seconds // 86400
    return ngettext("%d day", "%d days", days) % days


@register.filter
def money(amount: Decimal | None, currency: str) -> str:
    """Write an amount with its currency and that currency's digits."""
    return "" if amount is None else amounts.show(amount, currency)


def _stamp(instant: datetime | None, *, short: bool) -> str | SafeString:
    if instant is None:
        return ""
    local = timezone.localtime(instant)
    today = timezone.localtime(clock.now()).date()
    clock_text = formats.time_format(local, "H:i")
    if short and local.date() == today:
        return _tag(instant, clock_text)
    return _tag(instant, f"{formats.date_format(local, 'j M Y')}, {clock_text}")


def _tag(instant: datetime, text: str) -> SafeString:
    local = timezone.localtime(instant)
    whole = f"{formats.date_format(local, 'j F Y, H:i:s')} {timezone.get_current_timezone_name()}"
    return format_html('<time datetime="{}" title="{}">{}</time>', instant.isoformat(), whole, text)
