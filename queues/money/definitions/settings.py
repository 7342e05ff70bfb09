from backoffice import livesettings
from backoffice.livesettings import Setting


@livesettings.register
class PlanMinutes(Setting):
    """How long a preview can be confirmed. The digest, not this clock, guards against change."""

    name = "money.plan_minutes"
    default, minimum, maximum = 60, 5, 1440
    unit = "minutes"
