"""`manage.py definitions`: print everything that was declared, as text or JSON."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.core.serializers.json import DjangoJSONEncoder

from backoffice import defined


class Command(BaseCommand):
    """Print every definition and command."""

    help = "Print every definition: queues, score rules, jobs, settings, exports, reports, commands."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        found = defined.everything()
        if options["json"]:
            self.stdout.write(json.dumps(found, cls=DjangoJSONEncoder, indent=2))
            return
        for kind, entries in found.items():
            self.stdout.write(self.style.MIGRATE_HEADING(f"{kind} ({len(entries)})"))
            for entry in entries:
                details = "; ".join(f"{k}: {v}" for k, v in entry.items() if k != "name" and v not in (None, "", []))
                self.stdout.write(f"  {entry['name']}  {details}")
