"""`manage.py settings list | set NAME VALUE [--tenant SLUG]`: read and change settings."""

from __future__ import annotations

from argparse import ArgumentParser
from getpass import getuser
from typing import Any
from uuid import uuid4

from django.core.management.base import BaseCommand, CommandError

from backoffice import commands
from backoffice.commands import Actor
from backoffice.errors import Refusal
from backoffice.livesettings.changing import change_setting
from backoffice.livesettings.reading import in_force
from backoffice.tenants import scope
from backoffice.tenants.models import PLATFORM_SLUG, Tenant


class Command(BaseCommand):
    """Read and change settings from a shell."""

    help = "Print the settings in force, or change one. Without --tenant: the platform's, which hold for all."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("act", choices=["list", "set"])
        parser.add_argument("name", nargs="?")
        parser.add_argument("value", nargs="?", type=int)
        parser.add_argument("--tenant", default=PLATFORM_SLUG)

    def handle(self, *args: Any, act: str, name: str | None, value: int | None, tenant: str, **options: Any) -> None:
        found = Tenant.objects.filter(slug=tenant).first()
        if found is None:
            raise CommandError(f"There is no tenant {tenant!r}.")
        with scope.open(found):
            if act == "list":
                for known, held in in_force().items():
                    self.stdout.write(f"{known:<40} {held.value:>12}  ({held.origin})")
                return
            if name is None or value is None:
                raise CommandError("Say which and to what: manage.py settings set NAME VALUE")
            actor = Actor.system("shell", acting_for=f"shell of {getuser()}")
            try:
                commands.dispatch(change_setting, actor=actor, key=uuid4().hex, name=name, value=value)
            except Refusal as refusal:
                raise CommandError(str(refusal.message)) from None
            self.stdout.write(f"{name} is {value} from now on.")
