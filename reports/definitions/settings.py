"""The bounds of reports, as settings that operators change."""

from __future__ import annotations

from backoffice import livesettings
from backoffice.livesettings import Setting


@livesettings.register
class AgeingDays(Setting):
    """How wide a range of opening dates one payout ageing may cover."""

    name = "reports.payout-ageing.max_days"
    default, minimum, maximum, unit = 3_660, 1, 36_600, "days"


@livesettings.register
class AgeingRows(Setting):
    """How many rows a payout ageing may have: ages times currencies times states. More refuses it."""

    name = "reports.payout-ageing.max_rows"
    default, minimum, maximum, unit = 1_000, 1, 10_000, "rows"


@livesettings.register
class AgeingSeconds(Setting):
    """How long one payout ageing may read."""

    name = "reports.payout-ageing.max_seconds"
    default, minimum, maximum, unit = 60, 1, 600, "seconds"


@livesettings.register
class AgeingMegabytes(Setting):
    """How large the file of one payout ageing may grow."""

    name = "reports.payout-ageing.max_megabytes"
    default, minimum, maximum, unit = 10, 1, 100, "megabytes"


@livesettings.register
class AgeingConcurrent(Setting):
    """How many payout ageings of one tenant may be on their way at once."""

    name = "reports.payout-ageing.max_concurrent"
    default, minimum, maximum, unit = 3, 1, 50, "reports"


@livesettings.register
class AgeingLifetime(Setting):
    """How long a finished payout ageing is kept, counted from its completion."""

    name = "reports.payout-ageing.lifetime_hours"
    default, minimum, maximum, unit = 24 * 7, 1, 24 * 31, "hours"
