"""What a run of a file changed, for the notice to who asked for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from backoffice.jobs.models import Job
from exports.models import FileRequest


def changed(requests: type[FileRequest], jobs: Sequence[Job]) -> Mapping[int, str]:
    """Say of each job which file it wrote, or that it wrote none."""
    asked = requests._default_manager.filter(job__in=[job.pk for job in jobs])
    return {job: _words(rows) for job, rows in asked.values_list("job_id", "artifact__rows")}


def _words(rows: int | None) -> str:
    if rows is None:
        return _("No file was published; no data was changed.")
    words = ngettext("File with %(rows)s row written; no data was changed.",
                     "File with %(rows)s rows written; no data was changed.", rows)  # fmt: skip
    return words % {"rows": f"{rows:,}"}
