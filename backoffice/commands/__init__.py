"""Commands: the only code that changes state.

`@command(...)` registers a plain function; `dispatch(...)` is the only way to run it. Dispatch
checks the actor, opens one durable transaction, takes the receipt under (tenant, command, key),
runs the body, writes one audit event and commits. A repeat under the same key returns the stored
outcome; a refusal rolls everything back and is audited in a transaction of its own. A body never
dispatches another command.
"""

from typing import TYPE_CHECKING

from backoffice.lazy import exports

if TYPE_CHECKING:
    from backoffice.commands.actors import Actor
    from backoffice.commands.dispatching import dispatch
    from backoffice.commands.registering import Command, Outcome, command, registered

__all__ = ["Actor", "Command", "Outcome", "command", "dispatch", "registered"]

__getattr__ = exports(
    __name__,
    {
        "Actor": "actors",
        "dispatch": "dispatching",
        "Command": "registering",
        "Outcome": "registering",
        "command": "registering",
        "registered": "registering",
    },
)
