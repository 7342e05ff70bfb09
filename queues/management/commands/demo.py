"""`manage.py demo seed | accounts | code EMAIL`: the demo's data, its accounts, and a current code."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from backoffice import clock
from backoffice.errors import Refusal
from queues import demo


class Command(BaseCommand):
    help = "Make the demo's tenants, people and items, or print its accounts or a current code."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("act", choices=["seed", "accounts", "code"])
        parser.add_argument("email", nargs="?", help="whose code to print")
        parser.add_argument("--demo", action="store_true", help="yes, in this database")

    def handle(self, *args: Any, act: str, email: str | None, **options: Any) -> None:
        if not (settings.DEMO or options["demo"]):
            raise CommandError("This is not the embedded database; add --demo to have the demo in it all the same.")
        try:
            if act == "seed":
                made = demo.seed(now=clock.now())
                self.stdout.write("\n".join(made) if made else "The demo is there already.")
            elif act == "accounts":
                self._accounts()
            elif email:
                self.stdout.write(demo.code(address=email))
            else:
                raise CommandError("Whose code? For example: manage.py demo code finance@acme.example")
        except Refusal as refusal:
            raise CommandError(str(refusal.message)) from None

    def _accounts(self) -> None:
        accounts = demo.accounts()
        if not accounts:
            raise CommandError("There are no demo accounts yet; `manage.py demo seed` makes them.")
        wide = max(len(one.address) for one in accounts)
        self.stdout.write(f"Demo accounts, all with the password {demo.password()}")
        for one in accounts:
            self.stdout.write(f"  {one.address:<{wide}}  {one.role:<10}  /t/{one.tenant}/")
        self.stdout.write("A current code: uv run manage.py demo code finance@acme.example")
