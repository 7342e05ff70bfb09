"""Step-up: a second factor for one act, from a device that the session does not control.

- A secret is sealed at rest and shown once, at enrolment.
- A try is reserved before it is judged, by one conditional update, and everything about it is
  committed whatever comes: failures count even if all that follows rolls back.
- A code is spent by raising the device's last step: once, across sessions, processes and restarts.
- A `StepUp` names one person, one plan and one digest, lives for two minutes and is consumed once.
"""

from typing import TYPE_CHECKING

from backoffice.lazy import exports

if TYPE_CHECKING:
    from backoffice.stepup.confirming import confirm, consume
    from backoffice.stepup.demonstrating import current_code, enrol_demo
    from backoffice.stepup.models import Device, StepUp

__all__ = ["Device", "StepUp", "confirm", "consume", "current_code", "enrol_demo"]

__getattr__ = exports(
    __name__,
    {
        "confirm": "confirming",
        "consume": "confirming",
        "current_code": "demonstrating",
        "enrol_demo": "demonstrating",
        "Device": "models",
        "StepUp": "models",
    },
)
