"""What operators change about working in a queue."""

from backoffice import livesettings
from backoffice.livesettings import Setting


@livesettings.register
class SkipMinutes(Setting):
    """How long a skipped item stays behind for the person who skipped it; others are given it meanwhile."""

    name = "queues.skip_minutes"
    default, minimum, maximum = 60, 1, 1440
    unit = "minutes"


@livesettings.register
class UndoSeconds(Setting):
    """How long a person may take back their own last decision on an item."""

    name = "queues.undo_seconds"
    default, minimum, maximum = 60, 5, 3600
    unit = "seconds"


@livesettings.register
class CustomerDays(Setting):
    """How long an item that waits for the customer sleeps, unless the customer writes, before it is looked at again."""

    name = "queues.customer_days"
    default, minimum, maximum = 7, 1, 92
    unit = "days"


@livesettings.register
class RateDays(Setting):
    """How old a reference rate may be before every score that rests on it says so."""

    name = "queues.rate_days"
    default, minimum, maximum = 7, 1, 366
    unit = "days"


@livesettings.register
class BulkDays(Setting):
    """How long the results of what was done to many items at once stay readable."""

    name = "queues.bulk_days"
    default, minimum, maximum = 30, 1, 366
    unit = "days"
