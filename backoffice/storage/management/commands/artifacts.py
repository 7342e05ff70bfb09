"""`manage.py artifacts expire`: remove files that are past their time, in every tenant."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from backoffice import clock, commands
from backoffice.commands import Actor
from backoffice.storage import expiring
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant


class Command(BaseCommand):
    help = "Remove stored files that are past their time, and what broken runs left behind."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("act", choices=["expire"])

    def handle(self, *args: Any, **options: Any) -> None:
        now = clock.now()
        actor = Actor.system("shell", acting_for="manage.py artifacts expire")
        removed = swept = 0
        for tenant in Tenant.objects.all():
            with scope.open(tenant):
                for artifact in list(expiring.expired(now=now)):
                    commands.dispatch(
                        expiring.expire_artifact,
                        actor=actor,
                        key=f"artifact.expire:{artifact.pk}",
                        artifact_id=artifact.pk,
                    )
                    removed += 1
                swept += expiring.sweep_unpublished(now=now)
        self.stdout.write(f"removed {removed} expired files and {swept} left behind by broken runs")
