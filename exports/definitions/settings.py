"""The bounds of exports, as settings that operators change."""

from __future__ import annotations

from backoffice import livesettings
from backoffice.livesettings import Setting


@livesettings.register
class PayoutRows(Setting):
    """How many rows one export of payouts may hold. More refuses the export; nothing is ever cut."""

    name = "exports.payouts.max_rows"
    default, minimum, maximum, unit = 1_000_000, 1, 20_000_000, "rows"


@livesettings.register
class PayoutSeconds(Setting):
    """How long one export of payouts may read. Its snapshot is open for as long, which slows claiming."""

    name = "exports.payouts.max_seconds"
    default, minimum, maximum, unit = 300, 1, 3_600, "seconds"


@livesettings.register
class PayoutMegabytes(Setting):
    """How large the file of one export of payouts may grow, on the worker's disk and in storage."""

    name = "exports.payouts.max_megabytes"
    default, minimum, maximum, unit = 1_000, 1, 20_000, "megabytes"


@livesettings.register
class PayoutConcurrent(Setting):
    """How many exports of payouts of one tenant may be on their way at once."""

    name = "exports.payouts.max_concurrent"
    default, minimum, maximum, unit = 3, 1, 50, "exports"


@livesettings.register
class PayoutLifetime(Setting):
    """How long a finished file of payouts is kept, counted from its completion."""

    name = "exports.payouts.lifetime_hours"
    default, minimum, maximum, unit = 72, 1, 24 * 31, "hours"


@livesettings.register
class PayoutRequestBudget(Setting):
    """Up to how many rows an export of payouts is written within the request; a larger one runs in a worker."""

    name = "exports.payouts.request_budget"
    default, minimum, maximum, unit = 1_000, 0, 20_000, "rows"
