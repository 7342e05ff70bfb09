"""Change a setting's value."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from backoffice.commands import Actor, Outcome, command
from backoffice.errors import Refusal
from backoffice.livesettings.base import settings
from backoffice.livesettings.models import SettingValue
from backoffice.tenants import scope


@command("setting.change", permission="livesettings.change_setting", systems=("shell",))
def change_setting(*, actor: Actor, name: str, value: int) -> Outcome:
    """Set the open tenant's value of the setting; refuse one outside its bounds."""
    if name not in settings:
        raise Refusal("unknown-setting", _("There is no such setting."))
    definition = settings.get(name)
    if not definition.minimum <= value <= definition.maximum:
        raise Refusal(
            "out-of-bounds",
            _("%(name)s lies between %(low)d and %(high)d %(unit)s.")
            % {"name": name, "low": definition.minimum, "high": definition.maximum, "unit": definition.unit},
        )
    before = SettingValue.objects.filter(name=name).values_list("value", flat=True).first()
    SettingValue.objects.update_or_create(tenant=scope.current(), name=name, defaults={"value": value})
    return Outcome(target=f"setting:{name}", data={"before": before, "after": value})
