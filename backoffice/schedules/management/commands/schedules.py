"""`manage.py schedules`: look at schedules and operate them, as the runbooks say."""

from __future__ import annotations

import getpass
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from backoffice import commands
from backoffice.commands import Actor
from backoffice.errors import Refusal
from backoffice.pages import new_key
from backoffice.schedules import fanning_out, materialising, operating, overview
from backoffice.schedules.models import Occurrence, Schedule
from backoffice.tenants import scope
from backoffice.tenants.models import PLATFORM_ID, Tenant

ACTS = {
    "pause": operating.pause_schedule,
    "resume": operating.resume_schedule,
    "run": operating.run_schedule,
}


class Command(BaseCommand):
    """Operate schedules from a shell, with the same commands and the same audit as the page."""

    help = "List, show, pause, resume, run and replay schedules."

    def add_arguments(self, parser: ArgumentParser) -> None:
        acts = parser.add_subparsers(dest="act", required=True)
        acts.add_parser("list", help="every schedule: next instant, last outcome, what was left out")
        for act in ("show", *ACTS):
            one = acts.add_parser(act)
            one.add_argument("name", help="the definition's name")
            one.add_argument("--tenant", default="", help="whose schedule; not needed where only one has it")
        replay = acts.add_parser("replay", help="run a dead letter or a skipped occurrence again")
        replay.add_argument("occurrence", type=int, help="the occurrence's number")

    def handle(self, *args: Any, **options: Any) -> None:
        with scope.open(Tenant.objects.get(pk=PLATFORM_ID)):
            act = options["act"]
            if act == "list":
                self._list()
            elif act == "replay":
                self._dispatch(operating.replay_occurrence, occurrence_id=options["occurrence"])
            else:
                row = self._row(options["name"], options["tenant"])
                if act == "show":
                    self._show(row)
                else:
                    self._dispatch(ACTS[act], schedule_id=row.pk)

    def _dispatch(self, command: commands.Command, **arguments: Any) -> None:
        actor = Actor.system("shell", acting_for=f"shell:{getpass.getuser()}")
        try:
            outcome = commands.dispatch(command, actor=actor, key=new_key(), **arguments)
        except Refusal as refusal:
            raise CommandError(str(refusal.message)) from None
        facts = ", ".join(f"{name} {value}" for name, value in outcome.data.items())
        self.stdout.write(f"{command.name}: {outcome.target}, {facts}")

    def _row(self, name: str, tenant: str) -> Schedule:
        fanning_out.fan_out(now=materialising.database_now())
        rows = [row for row in overview.find(name=name) if tenant in ("", row.tenant.slug)]
        if not rows:
            raise CommandError(f"There is no schedule {name!r}. `manage.py schedules list` names them.")
        if len(rows) > 1:
            raise CommandError(f"{name!r} has a schedule in several tenants: say --tenant.")
        return rows[0]

    def _list(self) -> None:
        now = materialising.database_now()
        for line in overview.lines(now=now):
            row = line.row
            state = "retired" if row.retired_at else "paused" if row.paused_at else "manual" if not row.timing else ""
            upcoming = state or (row.next_at.isoformat() if row.next_at else "never")
            last = f"{line.last.scheduled_at.isoformat()} {line.last.state}" if line.last else "none yet"
            self.stdout.write(
                f"{row.definition}  tenant {row.tenant.slug}  next {upcoming}  last {last}"
                f"  left out {row.skipped}  dead letters {line.dead_letters}  behind {line.lag.total_seconds():.0f} s"
            )

    def _show(self, row: Schedule) -> None:
        now = materialising.database_now()
        job = overview.definition(row)
        for key, value in (job.describe() if job is not None else {"name": row.definition}).items():
            if value not in ("", None):
                self.stdout.write(f"{key}: {value}")
        self.stdout.write(f"planned: {row.enumerated} = {row.materialised} to run + {row.skipped} left out")
        for name, at in overview.recovery_points(row).items():
            self.stdout.write(f"last {name}: {at.isoformat() if at else 'never'}")
        for instant in overview.upcoming(row, viewer_zone="UTC", now=now):
            self.stdout.write(f"next: {instant.there.isoformat()}  {instant.at.isoformat()}")
        for misfire in overview.misfires(row)[:5]:
            self.stdout.write(f"left out: {misfire.count}, {misfire.get_reason_display()}, until {misfire.last_at}")
        for found in overview.occurrences(row)[:10]:
            self.stdout.write(
                f"occurrence {found.pk}: {found.scheduled_at.isoformat()} {found.state} {found.safe_error}"
            )
            if found.state == Occurrence.State.DEAD_LETTER:
                self.stdout.write(f"  replay it: manage.py schedules replay {found.pk}")
