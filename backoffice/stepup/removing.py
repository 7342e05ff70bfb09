"""Remove a lost device: its owner cannot, two other people can."""

from __future__ import annotations

from django.db.models.functions import Now
from django.utils.translation import gettext as _

from backoffice.commands import Actor, Outcome, command
from backoffice.errors import Refusal
from backoffice.stepup import confirming, notifying
from backoffice.stepup.models import Device, Removal
from backoffice.tenants import scope


@command("device.ask-removal", permission="stepup.issue_code")
def ask_removal(*, actor: Actor, device_id: int) -> Outcome:
    """Ask for the removal of another person's device."""
    person, device = confirming.person_of(actor), _locked(device_id)
    if device.person_id == person.pk:
        raise Refusal("own-device", _("Two other people remove a lost device."))
    if Removal.objects.filter(device=device).exists():
        raise Refusal("already-asked", _("Its removal was asked for already; another person has to agree."))
    removal = Removal.objects.create(tenant=scope.current(), device=device, owner=device.person, asked_by=person)
    notifying.notify_owner(
        person=device.person,
        subject=_("The removal of your device was asked for"),
        text=_("%(who)s asked to remove your device %(device)s.") % {"who": person, "device": device.name},
    )
    return Outcome(target=f"person:{device.person_id}", data={"device": device.name, "removal_id": removal.pk})


@command("device.agree-removal", permission="stepup.issue_code")
def agree_removal(*, actor: Actor, device_id: int) -> Outcome:
    """Agree to the removal that another person asked for: the device gives no codes from now on."""
    person, device = confirming.person_of(actor), _locked(device_id)
    removal = Removal.objects.filter(device=device, agreed_by=None).first()
    if removal is None:
        raise Refusal("not-asked", _("Nobody asked for the removal of this device."))
    if device.person_id == person.pk:
        raise Refusal("own-device", _("Two other people remove a lost device."))
    if removal.asked_by_id == person.pk:
        raise Refusal("same-person", _("You asked for it; another person has to agree."))
    Removal.objects.filter(pk=removal.pk).update(agreed_by=person)
    Device.objects.filter(pk=device.pk).update(state=Device.State.REMOVED, removed_at=Now())
    notifying.notify_owner(
        person=device.person,
        subject=_("Your device was removed"),
        text=_("%(who)s agreed to remove your device %(device)s.") % {"who": person, "device": device.name},
    )
    return Outcome(target=f"person:{device.person_id}", data={"device": device.name, "removal_id": removal.pk})


def _locked(device_id: int) -> Device:
    device = Device.objects.select_for_update(of=("self",)).select_related("person").filter(pk=device_id).first()
    if device is None or device.state != Device.State.ACTIVE:
        raise Refusal("no-such-device", _("There is no such device."))
    return device
