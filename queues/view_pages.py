"""The POSTs that save and remove a view of a queue."""

from __future__ import annotations

from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _

from backoffice import commands
from backoffice.errors import Refusal
from queues import list_page, saving_views
from queues.views import QueuePage


class SaveView(QueuePage):
    """Keep the list's filters and columns, which the address carries, under the posted name."""

    http_method_names = ["post", "options"]

    def required_permission(self) -> str:
        return self.queue.view

    def post(self, request: HttpRequest, queue: str) -> HttpResponse:
        filters = list_page.filters_of(queue=self.queue, query=request.GET)
        columns = list_page.chosen_columns(queue=self.queue, query=request.GET)
        try:
            commands.dispatch(
                saving_views.save_view,
                actor=self.actor,
                key=self.key,
                queue=self.queue.name,
                name=request.POST.get("name", ""),
                filters=filters,
                columns=columns,
                shared=bool(request.POST.get("shared")),
            )
        except Refusal as refusal:
            return self.listing(refusal=refusal)
        messages.success(request, _("The view is saved."))
        return _to(reverse("queue", args=[queue]) + self.suffix)


class RemoveView(QueuePage):
    """Remove the view and show the whole queue."""

    http_method_names = ["post", "options"]

    def required_permission(self) -> str:
        return self.queue.view

    def post(self, request: HttpRequest, queue: str, view: int) -> HttpResponse:
        try:
            commands.dispatch(
                saving_views.remove_view, actor=self.actor, key=self.key, queue=self.queue.name, view=view
            )
        except Refusal as refusal:
            return self.listing(refusal=refusal)
        messages.info(request, _("The view is removed."))
        return _to(reverse("queue", args=[queue]))


def tabs(page: QueuePage) -> list[dict[str, object]]:
    """Return the views above the list: name, address, whether it is shown, whether this person may remove it."""
    queue, person = page.queue, page.person
    home = reverse("queue", args=[queue.name])
    wanted = list_page.filters_of(queue=queue, query=page.request.GET)
    columns = list_page.chosen_columns(queue=queue, query=page.request.GET)
    supervises = person.has_perm("queues.supervise")
    return [
        {
            "id": view.pk,
            "name": view.name,
            "shared": view.shared,
            "url": f"{home}?{urlencode([*view.filters.items(), *(('cols', one) for one in view.columns)])}",
            "current": view.filters == wanted and view.columns == columns,
            "removable": supervises if view.shared else True,
        }
        for view in saving_views.views_of(queue=queue, person=person)
    ]


def _to(address: str) -> HttpResponse:
    response = HttpResponseRedirect(address)
    response.status_code = 303
    return response
