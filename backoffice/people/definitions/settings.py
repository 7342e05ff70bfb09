"""How long an invitation lasts, as a setting that operators change."""

from __future__ import annotations

from backoffice import livesettings
from backoffice.livesettings import Setting


@livesettings.register
class InvitationHours(Setting):
    """How long the link of an invitation serves. After that, invite again."""

    name = "people.invitation_hours"
    default, minimum, maximum, unit = 72, 1, 720, "hours"
