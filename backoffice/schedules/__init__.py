"""Schedules: every planned instant, once.

PostgreSQL is authoritative for everything: what is planned (`Schedule.cursor`), what is due
(`Occurrence`), who works on it (lease owner, expiry and fence on the occurrence). Any number of
scheduler processes may run; a scheduler only opens jobs, a worker does the work.

What stays true:
- An occurrence is (schedule, instant). Materialising inserts it and moves the cursor in one
  transaction; the cursor outlives the rows, so nothing fires twice.
- enumerated = materialised + skipped, on every schedule. Every skip has a Misfire row with its reason.
- An occurrence has at most one live job. Claiming, renewing and settling change job and occurrence
  in one statement under the fence, which rises across retries and replays.
- A run dispatches one command an item under the key `<occurrence>:<item>`: whatever is repeated has
  one effect.
- An unreachable store is an outage: it costs time, never an occurrence.

When it fires:
- `every` is elapsed time in UTC, counted from `anchor` (UTC midnight of 1 January 1970).
- `cron` is wall time of `zone`. A wall time that the clock skips follows `gap`: `skip` leaves it out,
  `shift` fires as much later as the clock moved, `gap_end` fires once at the moment it moved. A wall
  time that the clock repeats follows `overlap`: `first`, `second` or `both`. The policies hold for
  fixed hours and for stars alike (others guess from the look of the expression: cronsim and Debian's
  cron fire a fixed hour once and a star twice; croniter fires both twice). So an hourly job wants
  `both`, a daily one `first`.
- Day-of-month with day-of-week: either matches, as in crontab(5), unless one begins with a star;
  see `crontab`. (Cronos and Quartz require both.)
- Misfire: `SKIP` leaves out what is older than `grace`; `ONCE` runs the latest; `INTERVAL` runs all,
  oldest first, and beyond `cap` leaves out the oldest.
- An edit of a definition's timing first plans what the old timing had due, then goes on from the
  moment of the edit. Instants that pass while a schedule is paused are counted and left out.
"""

from typing import TYPE_CHECKING

from backoffice.lazy import exports

if TYPE_CHECKING:
    from backoffice.runbooks import Runbook
    from backoffice.schedules.base import Guard, ManualJob, Misfire, RunsWhere, ScheduledJob, StillGoing
    from backoffice.schedules.execution import register
    from backoffice.schedules.timing import Gap, Overlap
    from backoffice.schedules.work import Item, Spread, each_tenant, once, runbook_of

__all__ = [
    "Gap",
    "Guard",
    "Item",
    "ManualJob",
    "Misfire",
    "Overlap",
    "Runbook",
    "RunsWhere",
    "ScheduledJob",
    "Spread",
    "StillGoing",
    "each_tenant",
    "once",
    "register",
    "runbook_of",
]

__getattr__ = exports(
    __name__,
    {
        "Runbook": "work",
        **dict.fromkeys(["Guard", "ManualJob", "Misfire", "RunsWhere", "ScheduledJob", "StillGoing"], "base"),
        **dict.fromkeys(["Item", "Spread", "each_tenant", "once", "runbook_of"], "work"),
        **dict.fromkeys(["Gap", "Overlap"], "timing"),
        "register": "execution",
    },
)
