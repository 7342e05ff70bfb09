"""Load a spend file: stream it into a buffer, drop what stands twice, insert what is new, score it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, astuple, dataclass, fields
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

from django.db import connection
from django.utils.translation import gettext as _

from backoffice import commands, sql
from backoffice.commands import Actor, Outcome, command
from backoffice.errors import Refusal
from backoffice.tenants import scope
from queues import due_times, scoring, sharing
from queues.base import queue_for
from queues.ingest import decoding, spend
from queues.models import Payout

STEPS = ("read", "drop-duplicates", "load", "score")
SHOWN_LINES = 20
LONG_RECORD, MAX_NOTES = 5, 20
_SQL = Path(__file__).parent.parent / "sql"


@dataclass(frozen=True)
class Summary:
    """What became of a file: read = accepted + already loaded + dropped, and every drop has its reason."""

    encoding: str
    notes: tuple[str, ...]
    read: int
    accepted: int
    credits: int
    undated: int
    already: int
    dropped: dict[str, dict[str, Any]]  # reason -> {"count": 3, "lines": [7, 9, 12]}

    @property
    def dropped_count(self) -> int:
        return sum(found["count"] for found in self.dropped.values())


def load_file(
    *, actor: Actor, path: Path, currency: str, now: datetime, progress: decoding.Progress = lambda done, total: None
) -> Summary:
    """Load the file's payouts into the open tenant; refuse a file that is none, and then load nothing."""
    if not currency.isascii() or not currency.isalpha() or len(currency) != 3 or currency != currency.upper():
        raise Refusal("currency", _("A currency has three capital letters, such as GBP."))
    encoding = decoding.encoding_of(path)
    rows = decoding.rows(path, encoding=encoding, progress=progress)
    first = next(rows, None)
    if first is None or first[2] is None:
        raise Refusal("empty", _("The file is empty."))
    header = spend.read_header(first[2])
    zone = ZoneInfo(scope.current().time_zone)
    latest = now.astimezone(zone).date() + timedelta(days=366)
    notes = list(header.notes)

    def records() -> Iterator[spend.Record]:
        for line, last, cells in rows:
            record = spend.read_record(line, cells, header=header, currency=currency, zone=zone, latest=latest)
            if record.reason and last - line > LONG_RECORD and len(notes) < MAX_NOTES:
                # One quote too few swallows the rows after it; say so, since they are not counted one by one.
                span = {"line": line, "last": last}
                notes.append(_("the dropped record at line %(line)d runs to line %(last)d: is a quote missing?") % span)
            yield record

    _fill(records())
    try:
        outcome = commands.dispatch(
            ingest_payouts,
            actor=actor,
            # A fresh key each time: the natural keys make a repeat harmless, and its summary is then true.
            key=f"ingest:{uuid4().hex}",
            file=storable(path.name)[:200],
            sha256=_digest(path),
            currency=currency,
            now=now.isoformat(),
        )
    finally:
        _run("DROP TABLE IF EXISTS ingest_buffer")
    return Summary(encoding=encoding, notes=tuple(notes), **outcome.data)


@command("payouts.ingest", permission="queues.ingest", systems=("shell",))
def ingest_payouts(*, actor: Actor, file: str, sha256: str, currency: str, now: str) -> Outcome:
    """Load what this connection's buffer holds: one file's records, dropped or ready."""
    if not _run("SELECT to_regclass('pg_temp.ingest_buffer')")[0][0]:
        raise Refusal("nothing-read", _("No file was read."))
    _run(sql.read(_SQL / "ingest_duplicates.sql"), {"duplicate": spend.DUPLICATE, "conflict": spend.CONFLICT})
    instant = datetime.fromisoformat(now)
    starts = _run(
        "SELECT DISTINCT coalesce(opened_at, %(now)s) FROM pg_temp.ingest_buffer WHERE reason = ''", {"now": instant}
    )
    due = due_times.arriving(queue_for(Payout), [start for (start,) in starts])
    bound = {"tenant": scope.current().pk, "currency": currency, "now": instant, **asdict(due), "open": Payout.OPEN[0]}
    accepted, credits, undated, first, last = _run(sql.read(_SQL / "ingest_load.sql"), bound)[0]
    if accepted:
        scoring.score_range(queue_for(Payout), first=first, last=last, now=instant)
        sharing.share_free(actor=actor, listed=queue_for(Payout))
    dropped = {
        reason: {"count": count, "lines": lines}
        for reason, count, lines in _run(sql.read(_SQL / "ingest_dropped.sql"), {"shown": SHOWN_LINES})
    }
    ((read, ready),) = _run("SELECT count(*), count(*) FILTER (WHERE reason = '') FROM pg_temp.ingest_buffer")
    return Outcome(
        target=f"file:{sha256[:16]}",
        data={
            "read": read,
            "accepted": accepted,
            "credits": credits,
            "undated": undated,
            "already": ready - accepted,
            "dropped": dropped,
        },
    )


def storable(name: str) -> str:
    """Write a file's name so that the database can hold it: what is no text becomes a question mark."""
    return name.encode("utf-8", "replace").decode()


def _fill(records: Iterable[spend.Record]) -> None:
    """Copy the records into a fresh buffer of this connection."""
    _run("DROP TABLE IF EXISTS ingest_buffer")
    _run(sql.read(_SQL / "ingest_buffer.sql"))
    columns = ", ".join(field.name for field in fields(spend.Record))
    with connection.cursor() as cursor, cursor.copy(f"COPY pg_temp.ingest_buffer ({columns}) FROM STDIN") as copy:
        for record in records:
            copy.write_row(astuple(record))


def _run(text: str, bound: dict[str, Any] | None = None) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(text, bound)
        return cursor.fetchall() if cursor.description else []


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
