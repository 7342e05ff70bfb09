"""Runbooks: how an operator inspects, replays and disables a piece of work.

Each procedure names the command or the page that performs it, and a check holds the name to one
that exists: a procedure is not first tried during the incident it was written for.
"""

from backoffice.runbooks.base import Runbook, check

__all__ = ["Runbook", "check"]
