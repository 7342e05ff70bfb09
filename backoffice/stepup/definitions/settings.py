from backoffice import livesettings
from backoffice.livesettings import Setting


@livesettings.register
class DeviceWait(Setting):
    """How long a new device waits before it can confirm, so that its owner can object in time."""

    name = "stepup.device_wait_hours"
    default, minimum, maximum = 24, 0, 168
    unit = "hours"


@livesettings.register
class Tries(Setting):
    """How many wrong codes in a row lock a person's codes for a while."""

    name = "stepup.tries"
    default, minimum, maximum = 5, 3, 10
    unit = "tries"


@livesettings.register
class Lock(Setting):
    """How long the first lock lasts; each further failure doubles it, up to a day."""

    name = "stepup.lock_minutes"
    default, minimum, maximum = 15, 1, 1440
    unit = "minutes"


@livesettings.register
class EnrolmentCodeLife(Setting):
    """How long an enrolment code for a person's first device can be used."""

    name = "stepup.enrolment_code_hours"
    default, minimum, maximum = 24, 1, 72
    unit = "hours"
