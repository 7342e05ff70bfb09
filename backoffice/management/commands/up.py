"""Start the whole product: `manage.py up`."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from backoffice.stack import launch


class Command(BaseCommand):
    """Document the options. manage.py starts `launch` itself, before the settings are read."""

    help = launch.parser().description or ""
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options of `launch`."""
        launch.add_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Run as manage.py does."""
        launch.main(sys.argv[2:])
