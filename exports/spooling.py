"""A file on this machine's disk while it is written: counted, hashed, bounded, and gone afterwards."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path
from types import TracebackType
from typing import IO

from exports.bounds import Limits

BUFFER = 1 << 20


class Spool:
    """Write bytes to a temporary file; refuse those past the size bound. Use it as a context manager.

    Output is read from here once complete: a source that fails half way leaves nothing to offer. Whoever writes
    counts `rows`, so that a failure can say how far it came.
    """

    def __init__(self, *, limits: Limits) -> None:
        self._limits = limits
        self._digest = hashlib.sha256()
        self._file, self.path = _nameless()
        self.size = 0
        self.rows = 0

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    def write(self, data: bytes) -> None:
        """Append the bytes."""
        self.size += len(data)
        self._limits.check_bytes(self.size)
        self._digest.update(data)
        self._file.write(data)

    def complete(self) -> None:
        """Let others read the whole file by its path."""
        self._file.flush()

    def __enter__(self) -> Spool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


def _nameless() -> tuple[IO[bytes], Path]:
    """Make a file and a path to read it by; without a name, where Linux lets it, a killed process leaves nothing."""
    if Path("/proc/self/fd").is_dir():
        file: IO[bytes] = tempfile.TemporaryFile(buffering=BUFFER)  # noqa: SIM115  (closed by the spool)
        return file, Path(f"/proc/self/fd/{file.fileno()}")
    named = tempfile.NamedTemporaryFile(prefix="backoffice-spool-", buffering=BUFFER)  # noqa: SIM115  (closed by the spool)
    return named, Path(named.name)
