"""`manage.py ingest payouts|rates FILE --tenant T`: load a spend file, or reference rates."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from backoffice import clock
from backoffice.commands import Actor
from backoffice.errors import Refusal
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant
from queues import queues, scoring
from queues.ingest import loading, rates, spend


class Command(BaseCommand):
    help = "Load a file of payouts or of reference rates into a tenant. A second load of the same file changes nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("what", choices=["payouts", "rates"], help="what the file holds")
        parser.add_argument("file", type=Path, help="a CSV file of payments, or of date,currency,rate,source")
        parser.add_argument("--tenant", required=True, help="the tenant's address, such as acme")
        parser.add_argument("--currency", default="GBP", help="payouts: the currency of every amount (GBP)")

    def handle(self, *args: Any, what: str, file: Path, tenant: str, currency: str, **options: Any) -> None:
        owner = Tenant.objects.filter(slug=tenant).first()
        if owner is None or owner.is_platform:
            raise CommandError(f"There is no tenant “{tenant}” to load into; `manage.py tenants list` shows them.")
        if not file.is_file():
            raise CommandError(f"There is no file {loading.storable(str(file))}.")
        if what == "rates":
            self._rates(owner, file)
            return
        started = time.monotonic()
        try:
            with scope.open(owner):
                summary = loading.load_file(
                    actor=Actor.system("shell", acting_for=f"ingest of {loading.storable(file.name)}"[:200]),
                    path=file,
                    currency=currency,
                    now=clock.now(),
                    progress=_Bar(),
                )
        except Refusal as refusal:
            raise CommandError(f"{refusal.message} Nothing was loaded.") from None
        self._say(summary, file, time.monotonic() - started)

    def _rates(self, owner: Tenant, file: Path) -> None:
        actor, now = Actor.system("shell", acting_for=f"ingest of {loading.storable(file.name)}"[:200]), clock.now()
        try:
            with scope.open(owner):
                found = rates.load_file(actor=actor, path=file, now=now)
                for listed in queues if found.added or found.corrected else ():
                    scoring.rescore(
                        actor=actor, queue=listed.name, now=now, key=f"rates:{listed.name}:{now.isoformat()}"
                    )
        except Refusal as refusal:
            raise CommandError(f"{refusal.message} Nothing was loaded.") from None
        self.stdout.write(
            f"read {found.read:,} = added {found.added:,} + corrected {found.corrected:,}"
            f" + unchanged {found.unchanged:,} rates against {owner.currency}"
        )

    def _say(self, summary: loading.Summary, file: Path, seconds: float) -> None:
        write = self.stdout.write
        write(f"{loading.storable(file.name)}: {summary.encoding}, {seconds:.1f} s")
        for note in summary.notes:
            write(f"  note: {note}")
        write(
            f"read {summary.read:,} = accepted {summary.accepted:,} + already loaded {summary.already:,}"
            f" + dropped {summary.dropped_count:,}"
        )
        if summary.credits:
            write(f"  of those accepted, {summary.credits:,} are credits (below zero): kept, never payable")
        if summary.undated:
            write(f"  of those accepted, {summary.undated:,} have no usable date: their age counts from now")
        for reason, found in summary.dropped.items():
            more = found["count"] - len(found["lines"])
            lines = ", ".join(map(str, found["lines"])) + (f" and {more:,} more" if more else "")
            write(f"  dropped {found['count']:,} {reason}: {spend.REASONS[reason]} (line {lines})")


class _Bar:
    """Show progress: a bar on a terminal, a plain line every few seconds elsewhere."""

    def __init__(self) -> None:
        self.terminal = sys.stderr.isatty()
        self.last = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        share = done / total if total else 1.0
        if self.terminal:
            filled = int(share * 40)
            sys.stderr.write(f"\r[{'#' * filled}{' ' * (40 - filled)}] {share:4.0%}" + ("\n" if done >= total else ""))
            sys.stderr.flush()
        elif time.monotonic() - self.last > 5:
            self.last = time.monotonic()
            sys.stderr.write(f"read {share:.0%}\n")
