"""`manage.py tenants create SLUG NAME [--time-zone ZONE] [--currency CODE]` and `manage.py tenants list`."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any
from uuid import uuid4

from django.core.management.base import BaseCommand, CommandError

from backoffice import commands
from backoffice.commands import Actor
from backoffice.errors import Refusal
from backoffice.people import founding
from backoffice.tenants import scope
from backoffice.tenants.models import PLATFORM_ID, Tenant


class Command(BaseCommand):
    help = "Create a tenant, or list those there are."

    def add_arguments(self, parser: ArgumentParser) -> None:
        acts = parser.add_subparsers(dest="act", required=True)
        create = acts.add_parser("create", help="create a tenant")
        create.add_argument("slug", help="its address: lower-case letters, digits and hyphens; it never changes")
        create.add_argument("name")
        create.add_argument("--time-zone", default="UTC", help="an IANA name, such as Europe/Berlin (UTC)")
        create.add_argument("--currency", default="EUR", help="its own, which rates are against (EUR)")
        acts.add_parser("list", help="list the tenants")

    def handle(self, *args: Any, act: str, **options: Any) -> None:
        if act == "list":
            for tenant in Tenant.objects.all():
                self.stdout.write(f"{tenant.slug}\t{tenant.name}\t{tenant.time_zone}{' (demo)' if tenant.demo else ''}")
            return
        with scope.open(Tenant.objects.get(pk=PLATFORM_ID)):
            try:
                commands.dispatch(
                    founding.create_tenant,
                    actor=Actor.system("shell", acting_for="manage.py tenants create"),
                    key=f"shell:{uuid4().hex}",
                    slug=options["slug"],
                    name=options["name"],
                    time_zone=options["time_zone"],
                    currency=options["currency"],
                )
            except Refusal as refusal:
                raise CommandError(str(refusal.message)) from None
        self.stdout.write(f"{options['name']} is at /t/{options['slug']}/; now invite its people:")
        self.stdout.write(f"  manage.py people invite EMAIL NAME --tenant {options['slug']} --role supervisor")
