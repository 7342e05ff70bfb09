"""Settings that operators change while the product runs, each with a default, bounds and a reason.

`livesettings.get(name)` reads one value for the open tenant: the tenant's own, else the platform's, else the default.
"""

from backoffice.livesettings.base import Setting, register, settings
from backoffice.livesettings.reading import get

__all__ = ["Setting", "get", "register", "settings"]
