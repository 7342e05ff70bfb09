"""The supervisor's page of a queue."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import formats
from django.utils.translation import gettext as _

from queues import overview, plotting, showing
from queues.base import ClaimMode
from queues.views import QueuePage


class QueueOverview(QueuePage):
    """Show how the queue stands, what came and went, how long it took and who carries it."""

    http_method_names = ["get", "head", "options"]

    def required_permission(self) -> str:
        return "queues.supervise"

    def get(self, request: HttpRequest, queue: str) -> HttpResponse:
        if not self.person.has_perm(self.queue.view):
            raise PermissionDenied(_("Your roles here do not include this page."))
        now = overview.standing(queue=self.queue)
        past = overview.past(queue=self.queue, now=now.as_of)
        zone = ZoneInfo(self.tenant.time_zone)
        labels = overview.age_labels()
        hours = [_hour(hour, zone) for hour, _arrived, _decided in past.hours]
        marked = [at for at, (hour, _a, _d) in enumerate(past.hours) if hour.astimezone(zone).hour % 6 == 0]
        context = {
            "title": _("%(queue)s: overview") % {"queue": self.queue.title},
            "queue": self.queue,
            "claims": self.queue.claims.mode is not ClaimMode.DISABLED,
            "scored": self.queue.rule is not None,
            "standing": now,
            "ages": list(zip(labels, now.ages, strict=True)),
            "age_plot": plotting.columns(labels, [count.number for count in now.ages]),
            "past": past,
            "hours": [
                (label, arrived, decided) for label, (_h, arrived, decided) in zip(hours, past.hours, strict=True)
            ],
            "hour_plot": plotting.columns(
                hours,
                [arrived for _h, arrived, _d in past.hours],
                [decided for _h, _a, decided in past.hours],
                marked=marked,
            ),
            "arrived": sum(arrived for _h, arrived, _d in past.hours),
            "times": [
                (_("To the first hold"), past.times.get("claimed")),
                (_("To the decision"), past.times.get("decided")),
            ],
            "tallied": past.tallied_to > past.since,
            "age_said": _said_ages(labels, now),
            "hour_said": _said_hours(hours, past),
            "lapsed_share": past.share("lapsed"),
            "skipped_share": past.share("skipped"),
            "lapsing": [
                (item, reverse("item", args=[queue, item.pk]), showing.headline(item))
                for item in overview.lapsing(queue=self.queue, now=now.as_of)
            ],
            "zone": self.tenant.time_zone,
        }
        return self.page(context, template="queues/overview.html")


def _said_ages(labels: list[str], now: overview.Standing) -> str:
    """Describe the plot of the ages to who does not see it."""
    most = max(range(len(labels)), key=lambda at: now.ages[at].number)
    if not now.ages[most].number:
        return _("Nothing is open.")
    words = _("Columns for %(count)d bands of age. The most, %(most)s, are open for: %(band)s.")
    return words % {"count": len(labels), "most": now.ages[most], "band": labels[most]} + " " + _beside()


def _said_hours(hours: list[str], past: overview.Past) -> str:
    """Describe the plot of arrivals and decisions to who does not see it."""
    came = max(range(len(hours)), key=lambda at: past.hours[at][1])
    went = max(range(len(hours)), key=lambda at: past.hours[at][2])
    words = _(
        "Two columns an hour for %(count)d hours. Most arrivals: %(came)d at %(came_at)s."
        " Most decisions: %(went)d at %(went_at)s."
    )
    figures = {"came": past.hours[came][1], "came_at": hours[came], "went": past.hours[went][2], "went_at": hours[went]}
    return words % {"count": len(hours), **figures} + " " + _beside()


def _beside() -> str:
    return _("The table beside it holds every figure.")


def _hour(hour: datetime, zone: ZoneInfo) -> str:
    local = hour.astimezone(zone)
    return f"{formats.date_format(local, 'j M')} {formats.time_format(local, 'H:i')}"
