"""`manage.py people invite EMAIL NAME --tenant T --role R [--role R]`."""

from __future__ import annotations

import getpass
import secrets
import sys
from argparse import ArgumentParser
from typing import Any
from uuid import uuid4

from django.core.management.base import BaseCommand, CommandError

from backoffice import commands
from backoffice.commands import Actor
from backoffice.errors import Refusal
from backoffice.people import founding
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant, User
from backoffice.tenants.roles import ROLES


class Command(BaseCommand):
    help = "Let a person into a tenant. A new person's password is asked for, or generated and printed once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        acts = parser.add_subparsers(dest="act", required=True)
        invite = acts.add_parser("invite", help="let a person in, or change the roles of one who is")
        invite.add_argument("email")
        invite.add_argument("name")
        invite.add_argument("--tenant", required=True, help="the tenant's address")
        invite.add_argument("--role", action="append", required=True, choices=ROLES, help="may be given several times")

    def handle(self, *args: Any, **options: Any) -> None:
        tenant = Tenant.objects.filter(slug=options["tenant"]).first()
        if tenant is None:
            raise CommandError(f"There is no tenant “{options['tenant']}”; `manage.py tenants list` shows them.")
        address = options["email"].strip().lower()
        known = User.objects.filter(email__iexact=address).exists()
        password, printed = ("", "") if known else _password()
        with scope.open(tenant):
            try:
                commands.dispatch(
                    founding.invite_person,
                    actor=Actor.system("shell", acting_for="manage.py people invite"),
                    key=f"shell:{uuid4().hex}",
                    email=address,
                    name=options["name"],
                    roles=options["role"],
                    password=password,
                )
            except Refusal as refusal:
                raise CommandError(str(refusal.message)) from None
        self.stdout.write(f"{address} is in {tenant.name} as {', '.join(options['role'])}.")
        if known:
            self.stdout.write("This person was known already and keeps the password.")
        elif printed:
            self.stdout.write(f"The password, shown this once: {printed}")


def _password() -> tuple[str, str]:
    """Ask for a password on a terminal; make one elsewhere, to be printed once."""
    if not sys.stdin.isatty():
        made = secrets.token_urlsafe(15)
        return made, made
    asked = getpass.getpass("Password (empty to have one made): ")
    if not asked:
        made = secrets.token_urlsafe(15)
        return made, made
    if getpass.getpass("The same again: ") != asked:
        raise CommandError("The two are not the same.")
    return asked, ""
