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
# How files begin that are no text, though a single-byte encoding might make letters of them.
_NO_TEXT = {
    b"PK\x03\x04": "xlsx",
    b"PK\x05\x06": "xlsx",
    b"\xd0\xcf\x11\xe0": "xls",
    b"%PDF": "pdf",
    b"\x1f\x8b": "gzip",
    b"<?xml": "xml",
}
Progress = Callable[[int, int], None]


def encoding_of(path: Path) -> str:
    """Find the encoding by reading the whole file: by its mark, else UTF-8, else Windows-1252."""
    with path.open("rb") as file:
        require_text(file.read(64))
        file.seek(0)
        wide = file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
        for name in ("utf-16",) if wide else ("utf-8-sig", "cp1252"):
            file.seek(0)
            if _decodes(file, name):
                return name
    raise Refusal("unreadable", _("The file is neither UTF-8, UTF-16 nor Windows-1252 text."))


def require_text(beginning: bytes) -> None:
    """Refuse a workbook, a document or XML by how it begins: it would be read as no rows, or as nonsense."""
    bare = beginning.removeprefix(codecs.BOM_UTF8).lstrip()
    kind = next((kind for mark, kind in _NO_TEXT.items() if bare.startswith(mark)), "")
    if kind in {"xlsx", "xls"}:
        raise Refusal(
            "workbook", _("This is a workbook, of which no sheet is read here. Save its sheet as CSV (UTF-8).")
        )
    if kind:
        raise Refusal("no-table", _("This is a file of another kind (%(kind)s), not a table in CSV.") % {"kind": kind})


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
