"""Devices of demo people, whose codes a command can print. Refused in every tenant that is no demo."""

from __future__ import annotations

from django.db.models.functions import Now

from backoffice import commands
from backoffice.commands import Actor, Outcome, command
from backoffice.errors import Refusal
from backoffice.livesettings.changing import change_setting
from backoffice.stepup import codes, sealing, spending
from backoffice.stepup.models import Device
from backoffice.tenants import scope
from backoffice.tenants.models import User

_NAME = "Demo phone"


def enrol_demo(person: User) -> Device:
    """Give the demo person a device that can confirm at once, and let further ones of the tenant do so too."""
    tenant = scope.current()
    _require_demo()
    system = Actor.system("shell", acting_for=f"demo:{tenant.slug}")
    commands.dispatch(
        change_setting, actor=system, key=f"demo-wait:{tenant.pk}", name="stepup.device_wait_hours", value=0
    )
    outcome = commands.dispatch(
        enrol_demo_device,
        actor=Actor.system("demo", acting_for=f"demo:{tenant.slug}"),
        key=f"demo-device:{person.pk}",
        person_id=person.pk,
    )
    return Device.objects.get(pk=outcome.data["device_id"])


def current_code(person: User) -> str:
    """Return a code of the demo person's device that confirms now: this step's, or the next one's once it is spent."""
    _require_demo()
    device = Device.objects.filter(person=person, state=Device.State.ACTIVE, name=_NAME).first()
    if device is None:
        raise Refusal("no-device", "This person has no demo device.")
    step = max(codes.step_at(spending.database_time()), device.last_step + 1)
    return codes.code_of(secret=sealing.unseal(device.sealed_secret), step=step)


@command("device.enrol-demo", systems=("demo",))
def enrol_demo_device(*, actor: Actor, person_id: int) -> Outcome:
    """Create the demo person's device, once."""
    _require_demo()
    device, _made = Device.objects.get_or_create(
        person_id=person_id,
        name=_NAME,
        state=Device.State.ACTIVE,
        defaults={
            "tenant": scope.current(),
            "sealed_secret": sealing.seal(codes.new_secret()),
            "usable_at": Now(),
        },
    )
    return Outcome(target=f"person:{person_id}", data={"device_id": device.pk, "name": _NAME})


def _require_demo() -> None:
    if not scope.current().demo:
        raise Refusal("not-a-demo", "Only demo tenants have demo devices.")
