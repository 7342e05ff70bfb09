"""Devices and codes for tests."""

from __future__ import annotations

from datetime import timedelta

from django.db.models.functions import Now

from backoffice.stepup import codes, sealing, spending
from backoffice.stepup.models import Device
from backoffice.tenants import scope
from backoffice.tenants.models import User

SECRET = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"  # of RFC 6238


def make_device(person: User, *, secret: str = "", wait: timedelta = timedelta(0), name: str = "Phone") -> Device:
    """Give the person an active device in the open tenant."""
    return Device.objects.create(
        tenant=scope.current(),
        person=person,
        name=name,
        sealed_secret=sealing.seal(secret or codes.new_secret()),
        state=Device.State.ACTIVE,
        usable_at=Now() + wait,
    )


def fresh_code(device: Device) -> str:
    """Return a code of the device that is accepted now. Two calls without a use return the same one."""
    device.refresh_from_db()
    step = max(codes.step_at(spending.database_time()), device.last_step + 1)
    return codes.code_of(secret=sealing.unseal(device.sealed_secret), step=step)


def wrong_code(device: Device) -> str:
    """Return six digits that are no code of the device near this instant."""
    now = codes.step_at(spending.database_time())
    near = {codes.code_of(secret=sealing.unseal(device.sealed_secret), step=now + n) for n in range(-4, 5)}
    return next(text for text in (f"{n:06d}" for n in range(20)) if text not in near)


def forget_codes(device: Device) -> None:
    """Let the device's codes count again, as if a minute had passed."""
    Device.objects.filter(pk=device.pk).update(last_step=0)
