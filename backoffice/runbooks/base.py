"""The shape of a runbook, and what makes one true."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.core.checks import CheckMessage, Error
from django.core.management import get_commands

COMMAND = "manage.py "


@dataclass(frozen=True, kw_only=True)
class Runbook:
    """Say how to look at the work, run it again and stop it: each a `manage.py ...` line.

    `note` says what an operator must know besides: what becomes of work already claimed, whom to ask.
    """

    inspect: str
    replay: str
    disable: str
    note: str = ""

    def procedures(self) -> dict[str, str]:
        """Return each procedure's command line by its purpose."""
        return {"inspect": self.inspect, "replay": self.replay, "disable": self.disable}


def check(runbook: object, *, owner: str, obj: Any, code: str) -> list[CheckMessage]:
    """Report a missing runbook, and each procedure that names no command that exists."""
    if not isinstance(runbook, Runbook):
        return [
            Error(
                f"{owner} has no runbook.",
                hint="State runbook = Runbook(inspect=..., replay=..., disable=...), each a `manage.py ...` line.",
                obj=obj,
                id=code,
            )
        ]
    known = get_commands()
    return [
        Error(
            f"{owner}: the runbook's {purpose} procedure names no command: {line!r}.",
            hint="Write the line an operator types: `manage.py schedules show NAME`.",
            obj=obj,
            id=code,
        )
        for purpose, line in runbook.procedures().items()
        if not line.startswith(COMMAND) or line.removeprefix(COMMAND).split(" ")[0] not in known
    ]
