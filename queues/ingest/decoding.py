"""Read a delivered text file whatever it was saved as, and say what it was."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from django.utils.translation import gettext as _

from backoffice.errors import Refusal

_CHUNK = 1 << 20
Progress = Callable[[int, int], None]


def encoding_of(path: Path) -> str:
    """Find the encoding by reading the file once: by its mark, else UTF-8, else Windows-1252."""
    with path.open("rb") as file:
        wide = file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
        for name in ("utf-16",) if wide else ("utf-8-sig", "cp1252"):
            file.seek(0)
            if _decodes(file, name):
                return name
    raise Refusal("unreadable", _("The file is neither UTF-8, UTF-16 nor Windows-1252 text."))


def _decodes(file: BinaryIO, name: str) -> bool:
    decoder = codecs.getincrementaldecoder(name)()
    try:
        while chunk := file.read(_CHUNK):
            decoder.decode(chunk)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def rows(path: Path, *, encoding: str, progress: Progress) -> Iterator[tuple[int, int, list[str] | None]]:
    """Yield (the record's first line, its last line, its cells); None for one that is no CSV at all.

    `progress` is told (bytes read, bytes in all) now and then.
    """
    total = path.stat().st_size
    with path.open("rb") as file, io.TextIOWrapper(file, encoding=encoding, newline="") as text:
        reader = csv.reader(text)
        line, count = 1, 0
        while True:
            try:
                cells = next(reader, None)
            except csv.Error:
                yield line, reader.line_num, None
            else:
                if cells is None:
                    break
                if cells:
                    yield line, reader.line_num, cells
            line = reader.line_num + 1
            count += 1
            if count % 2_000 == 0:
                progress(file.tell(), total)
        progress(total, total)
