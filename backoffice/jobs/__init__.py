"""Jobs: durable work. The database is authoritative for everything; RQ only carries ids.

A job belongs to a tenant and to one intention (tenant, kind, submission key). Its row, steps and
events say what happened; `execution` names the run that holds it, `fence` rises with each, and
`lease_until`, by the database's clock, says how long it does.

    queued ---claim---> running ---+--> succeeded
      ^  |                 |       +--> failed      (a refusal's words, or a sentence with a reference)
      |  |                 |       +--> cancelled
      |  |                 |
      |  +--> cancelled,   +--> queued  (a retry, a lost worker, an outage, a hand-over to a successor)
      |       failed            |
      +-------------------------+

What stays true:
- A final job or step never changes, progress and fences never fall, events are only added. The
  database refuses the rest.
- Claim, renew, report, settle and give back are one conditional statement each, on (id, fence).
- A job starts after the commit that submits it. A start that fails leaves it to the reconciler.
- A command that a job dispatches is guarded by its fence: a stale run finishes at most the command it is in.
- A run ends with all the processes that it started, however it ends; `surviving` names the exception.
- Nothing of an exception reaches the record or the broker: people see a Refusal's words or a reference.

A kind is a class in `<app>/definitions/`:

    @jobs.register
    class SendStatement(JobKind):
        name = "statements.send"
        title = _("Send a statement")
        queue = "bulk"
        steps = (Step("write", _("Write it")), Step("send", _("Send it")))
        changes = _("The customer has the month's statement.")
        failure = Consequence(_("The customer has no statement for this month."))

        def run(self, run):
            with run.step("write") as todo:
                if todo:
                    commands.dispatch(write, actor=..., key=f"statement:{run.arguments['id']}", guard=run.guard)
            with run.step("send") as todo:
                ...
"""

from typing import TYPE_CHECKING

from backoffice.lazy import exports

if TYPE_CHECKING:
    from backoffice.jobs.base import Backoff, Consequence, JobKind, NoConsequence, Step, kinds, register
    from backoffice.jobs.cancelling import cancel, request_cancel
    from backoffice.jobs.continuing import hand_over
    from backoffice.jobs.errors import Broken, Cancelled, SettlementRefused, StaleFence, StartRefused, Stopping
    from backoffice.jobs.replaying import retry
    from backoffice.jobs.running import Run
    from backoffice.jobs.states import JobState, StepState
    from backoffice.jobs.submitting import submit

__all__ = [
    "Backoff",
    "Broken",
    "Cancelled",
    "Consequence",
    "JobKind",
    "JobState",
    "NoConsequence",
    "Run",
    "SettlementRefused",
    "StaleFence",
    "StartRefused",
    "Step",
    "StepState",
    "Stopping",
    "cancel",
    "hand_over",
    "kinds",
    "register",
    "request_cancel",
    "retry",
    "submit",
]

__getattr__ = exports(
    __name__,
    {
        **dict.fromkeys(["Backoff", "Consequence", "JobKind", "NoConsequence", "Step", "kinds", "register"], "base"),
        **dict.fromkeys(["cancel", "request_cancel"], "cancelling"),
        "hand_over": "continuing",
        **dict.fromkeys(
            ["Broken", "Cancelled", "SettlementRefused", "StaleFence", "StartRefused", "Stopping"], "errors"
        ),
        "retry": "replaying",
        "Run": "running",
        **dict.fromkeys(["JobState", "StepState"], "states"),
        "submit": "submitting",
    },
)
