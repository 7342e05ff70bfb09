"""The product's settings with the probe jobs: for real workers and schedulers that tests start."""

from backoffice.settings import *  # noqa: F403  (settings are a module of names)
from backoffice.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.probe_jobs"]
