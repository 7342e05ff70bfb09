"""Read settings for the open tenant: the tenant's own value, else the platform's, else the default."""

from __future__ import annotations

from dataclasses import dataclass

from backoffice.livesettings.base import settings
from backoffice.tenants import scope


@dataclass(frozen=True)
class InForce:
    """A value and where it comes from: "tenant", "platform" or "default"."""

    value: int
    origin: str


def get(name: str) -> int:
    """Return the value in force."""
    definition = settings.get(name)
    own, platform = _stored([name])
    return own.get(name, platform.get(name, definition.default))


def in_force() -> dict[str, InForce]:
    """Return every setting's value in force, with its origin."""
    own, platform = _stored([setting.name for setting in settings])
    found = {}
    for setting in settings:
        name = setting.name
        if name in own:
            found[name] = InForce(own[name], "platform" if scope.current().is_platform else "tenant")
        elif name in platform:
            found[name] = InForce(platform[name], "platform")
        else:
            found[name] = InForce(setting.default, "default")
    return found


def _stored(names: list[str]) -> tuple[dict[str, int], dict[str, int]]:
    # Models load after this package, which Django imports first.
    from backoffice.livesettings.models import SettingValue
    from backoffice.tenants.models import PLATFORM_ID

    tenant = scope.current()
    with scope.unscoped(reason="a setting falls back from the tenant's value to the platform's"):
        rows = list(
            SettingValue.objects.filter(name__in=names, tenant_id__in=[tenant.pk, PLATFORM_ID]).values_list(
                "tenant_id", "name", "value"
            )
        )
    own = {name: value for tenant_id, name, value in rows if tenant_id == tenant.pk}
    return own, {name: value for tenant_id, name, value in rows if tenant_id == PLATFORM_ID}
