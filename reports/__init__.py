"""Reports: computed tables, each a `Report` definition over one documented query.

A report says what it means, who needs it, what it may cost and who may read it; its SQL lies in
`reports/sql` and is read by the provider with every value bound. It runs on the pipeline of
exports: request, job, artifact, download; its page shows the table and a plot beside the file.
"""

from typing import TYPE_CHECKING

from backoffice.lazy import exports

if TYPE_CHECKING:
    from reports.base import Need, Plot, Report, ReportBounds, register, reports

__all__ = ["Need", "Plot", "Report", "ReportBounds", "register", "reports"]

__getattr__ = exports(
    __name__, dict.fromkeys(["Need", "Plot", "Report", "ReportBounds", "register", "reports"], "base")
)
