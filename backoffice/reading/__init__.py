"""The reporting connection: read-only, held to one tenant by the database itself, bounded and cancellable.

`with reading.session(tenant=..., timeout=..., name=...) as session:` opens a connection of its own
and one transaction on it: REPEATABLE READ READ ONLY, so that everything read is of one instant; the
role `backoffice_reporting`, which row security holds to `backoffice.tenant`; a statement timeout;
`name` as its application name, by which `reading.cancel(name=...)` stops its query.
"""

from backoffice.reading.cancelling import cancel
from backoffice.reading.sessions import ALIAS, Cancelled, Session, TimedOut, session

__all__ = ["ALIAS", "Cancelled", "Session", "TimedOut", "cancel", "session"]
