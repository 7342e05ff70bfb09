"""How long the records of background work are kept."""

from __future__ import annotations

from backoffice import livesettings
from backoffice.livesettings import Setting


@livesettings.register
class OccurrenceRetention(Setting):
    """How long occurrences and the notes of what was left out are kept after their instant."""

    name = "schedules.retention"
    default, minimum, maximum, unit = 90, 1, 3_650, "days"


@livesettings.register
class FrequentRetention(Setting):
    """How long occurrences of schedules that fire every few minutes are kept: at one a minute, 10,080 a week."""

    name = "schedules.frequent_retention"
    default, minimum, maximum, unit = 7, 1, 90, "days"


@livesettings.register
class JobRetention(Setting):
    """How long ended jobs are kept, with their steps and events."""

    name = "jobs.retention"
    default, minimum, maximum, unit = 90, 1, 3_650, "days"


@livesettings.register
class ReceiptRetention(Setting):
    """How long a command's receipt answers a repetition. It always outlives the occurrences' retention."""

    name = "commands.receipt_retention"
    default, minimum, maximum, unit = 120, 1, 3_650, "days"
