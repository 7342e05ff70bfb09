"""`manage.py rescore [QUEUE ...] [--tenant T]`: score what is due again, now."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from backoffice import clock
from backoffice.commands import Actor
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant
from queues import queues, scoring


class Command(BaseCommand):
    help = "Score the open items of scored queues; write only what changes."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("queue", nargs="*", help="names of queues; all that have a score when none is named")
        parser.add_argument("--tenant", help="one tenant's address; all tenants when not given")

    def handle(self, *args: Any, queue: list[str], tenant: str | None, **options: Any) -> None:
        scored = [one.name for one in queues if one.rule is not None]
        if unknown := sorted(set(queue) - set(scored)):
            raise CommandError(f"No scored queue is named {', '.join(unknown)}; there are: {', '.join(scored)}.")
        tenants = Tenant.objects.filter(slug=tenant) if tenant else Tenant.objects.all()
        if tenant and not tenants:
            raise CommandError(f"There is no tenant “{tenant}”.")
        now = clock.now()
        for one in tenants:
            with scope.open(one):
                for name in queue or scored:
                    changed = scoring.rescore(
                        actor=Actor.system("shell", acting_for="manage.py rescore"),
                        queue=name,
                        now=now,
                        key=f"rescore:{name}:{now.isoformat()}",
                    )
                    self.stdout.write(f"{one.slug} {name}: {changed:,} changed")
