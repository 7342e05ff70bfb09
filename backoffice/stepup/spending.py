"""Judge a code against a person's devices, and spend it."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import connection

from backoffice.stepup import codes, sealing
from backoffice.stepup.models import Device
from backoffice.tenants.models import User


@dataclass(frozen=True)
class Verdict:
    """What came of a code: `code` is empty for a right one, else why it does not count."""

    code: str
    device: Device | None = None
    step: int = 0


def active_devices(person: User) -> list[Device]:
    """Return the person's devices in the open tenant that may give codes, now or later."""
    return list(Device.objects.filter(person=person, state=Device.State.ACTIVE))


def spend(*, devices: list[Device], code: str) -> Verdict:
    """Find the device whose code this is and raise its last step; never raises for what a person typed.

    Every device is tried, so that the time does not tell which one matched.
    """
    unix_time, matched = database_time(), None
    for device in devices:
        step = codes.matching_step(secret=sealing.unseal(device.sealed_secret), code=code, unix_time=unix_time)
        if step is not None:
            matched = (device, step)
    if matched is None:
        return Verdict("wrong-code")
    device, step = matched
    if not Device.objects.filter(pk=device.pk, last_step__lt=step).update(last_step=step):
        return Verdict("code-used", device, step)
    if device.usable_at is None or device.usable_at.timestamp() > unix_time:
        return Verdict("too-new", device, step)
    return Verdict("", device, step)


def database_time() -> float:
    """Read the database's clock, in seconds since 1970: all processes judge a code by one clock."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT extract(epoch FROM clock_timestamp())::double precision")
        return float(cursor.fetchone()[0])
