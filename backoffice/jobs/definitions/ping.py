"""The smallest job: it shows that submission, dispatch and a worker work together."""

from __future__ import annotations

from datetime import timedelta

from django.utils.translation import gettext_lazy as _

from backoffice.jobs.base import JobKind, NoConsequence, Step, register
from backoffice.jobs.running import Run


@register
class Ping(JobKind):
    """Answer."""

    name = "system.ping"
    title = _("Answer a test call")
    queue = "interactive"
    steps = (Step("answer", _("Answer")),)
    max_duration = timedelta(minutes=1)
    changes = _("Nothing was changed: a worker answered.")
    failure = NoConsequence(_("It only shows that workers answer."))

    def run(self, run: Run) -> None:
        with run.step("answer"):
            pass
