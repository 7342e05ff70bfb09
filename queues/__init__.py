"""Human work queues: ordered lists of items that people claim and decide.

A team adds a `Queue` over a model that extends `QueueItem`, and a `ScoreRule` where a score orders
it; both are registered with `queues.register`. What always holds:

- An item is held by one person at most. A claim is one conditional UPDATE by the database's clock;
  its token rises with every new hold, and an act presents the token it was given.
- A claim ends by itself when its lease does: that is decided when the row is read or claimed, and
  no sweep is needed for it.
- A skip puts an item behind for one person, a snooze takes it out for all until its instant, a hand
  gives it to somebody who may work there and has room. None of them lets two people hold one item.
- A decision's event stays; taking it back is another event, and only while nothing outside followed.
- The list, claim-next and the page show one order: score, highest first, unscored last, then the
  oldest, then the id. A queue without a score lists the oldest first.
- A due time is stored with the clock that gives it, and kept right in the transaction that changes an
  instant of the item's; working hours count, and a clock that pauses gives none.
- A score is stored with the inputs, points, rule and version that made it, so a row explains itself.
- An act, a rescore or a load is a command; nothing else writes an item.
"""

from typing import TYPE_CHECKING

from backoffice.lazy import exports

if TYPE_CHECKING:
    from queues.base import (
        Action,
        Advisory,
        Bounded,
        Claim,
        ClaimMode,
        Queue,
        Reason,
        RoundRobin,
        ScoreRule,
        queue_for,
        queues,
        register,
        rules,
    )
    from queues.due_rules import Within
    from queues.inputs import Flag, Lookup, Ramp, Step
    from queues.reference import InReference
    from queues.sources import Age, Field, Money

__all__ = [
    "Action",
    "Advisory",
    "Age",
    "Bounded",
    "Claim",
    "ClaimMode",
    "Field",
    "Flag",
    "InReference",
    "Lookup",
    "Money",
    "Queue",
    "Ramp",
    "Reason",
    "RoundRobin",
    "ScoreRule",
    "Step",
    "Within",
    "queue_for",
    "queues",
    "register",
    "rules",
]

__getattr__ = exports(
    __name__,
    {
        **dict.fromkeys(
            ["Action", "Advisory", "Bounded", "Claim", "ClaimMode", "Queue", "Reason", "RoundRobin", "ScoreRule"],
            "base",
        ),
        **dict.fromkeys(["queue_for", "queues", "register", "rules"], "base"),
        **dict.fromkeys(["Flag", "Lookup", "Ramp", "Step"], "inputs"),
        **dict.fromkeys(["Age", "Field", "Money"], "sources"),
        "InReference": "reference",
        "Within": "due_rules",
    },
)
