"""Exports: rows of one model into a file, each an `Export` definition.

One pipeline: request, run, artifact, download. What always holds: a bound that is hit refuses the
run and names the bound, nothing is truncated and nothing half-written is offered; the requester's
permission is asked at the request, again when the run starts, and the reader's at each download;
what is read is of one instant and one tenant; every file carries a manifest.
"""

from typing import TYPE_CHECKING

from backoffice.lazy import exports as _public

if TYPE_CHECKING:
    from exports.base import Audit, Export, NoPaging, Pages, exports, register
    from exports.bounds import Bounds

__all__ = ["Audit", "Bounds", "Export", "NoPaging", "Pages", "exports", "register"]

__getattr__ = _public(
    __name__,
    {
        **dict.fromkeys(["Audit", "Export", "NoPaging", "Pages", "exports", "register"], "base"),
        "Bounds": "bounds",
    },
)
