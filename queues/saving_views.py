"""Keep views of a queue: save one under a name, list those that a person has, remove one."""

from __future__ import annotations

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from backoffice.commands import Actor, Outcome, command
from backoffice.errors import NotPermitted, Refusal
from backoffice.tenants import scope
from backoffice.tenants.models import User
from queues.base import Queue, queues
from queues.models import SavedView

MOST = 20


def views_of(*, queue: Queue, person: User) -> QuerySet[SavedView]:
    """Return the shared views of the queue and the person's own, the shared ones first."""
    return SavedView.objects.filter(Q(shared=True) | Q(owner=person), queue=queue.name).order_by("-shared", "name")


@command("view.save", permission="queues.save_view")
def save_view(
    *, actor: Actor, queue: str, name: str, filters: dict[str, str], columns: list[str], shared: bool = False
) -> Outcome:
    """Keep the filters and columns under the name; the same name again replaces what it held."""
    person = _viewer(actor, queue)
    name = " ".join(name.split())
    if not name or len(name) > 60:
        raise Refusal("bad-name", _("Name the view in 1 to 60 characters."))
    if shared and not person.has_perm("queues.supervise"):
        raise NotPermitted("not-permitted", _("Only a supervisor shares a view."))
    among = SavedView.objects.filter(queue=queue, shared=shared)
    if not shared:
        among = among.filter(owner=person)
    held = {"filters": filters, "columns": columns}
    view = among.filter(name=name).first()
    if view is None:
        if among.count() >= MOST:
            raise Refusal("too-many", _("There are %(most)d such views already. Remove one first.") % {"most": MOST})
        view = SavedView.objects.create(
            tenant=scope.current(), queue=queue, owner=person, name=name, shared=shared, **held
        )
    else:
        among.filter(pk=view.pk).update(**held)
    return Outcome(target=f"view:{view.pk}", data={"id": view.pk})


@command("view.remove", permission="queues.save_view")
def remove_view(*, actor: Actor, queue: str, view: int) -> Outcome:
    """Remove one's own view, or as a supervisor a shared one."""
    person = _viewer(actor, queue)
    rows = SavedView.objects.filter(queue=queue, pk=view)
    if not person.has_perm("queues.supervise"):
        rows = rows.filter(shared=False)
    gone, _each = rows.filter(Q(owner=person) | Q(shared=True)).delete()
    if not gone:
        raise Refusal("gone", _("This view is not yours to remove, or it is gone already."))
    return Outcome(target=f"view:{view}")


def _viewer(actor: Actor, queue: str) -> User:
    if actor.user is None or not actor.user.has_perm(queues.get(queue).view):
        raise NotPermitted("not-permitted", _("You may not see this queue."))
    return actor.user
