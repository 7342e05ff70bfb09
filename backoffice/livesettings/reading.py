"""Read a setting's value for the open tenant."""

from __future__ import annotations

from backoffice.livesettings.base import settings
from backoffice.tenants import scope


def get(name: str) -> int:
    """Return the value in force: the tenant's own, else the platform's, else the definition's default."""
    # Models load after this package, which Django imports first.
    from backoffice.livesettings.models import SettingValue
    from backoffice.tenants.models import PLATFORM_ID

    definition = settings.get(name)
    tenant = scope.current()
    with scope.unscoped(reason="a setting falls back from the tenant's value to the platform's"):
        values: dict[int, int] = dict(
            SettingValue.objects.filter(name=name, tenant_id__in=[tenant.pk, PLATFORM_ID]).values_list(
                "tenant_id", "value"
            )
        )
    return values.get(tenant.pk, values.get(PLATFORM_ID, definition.default))
