"""British English as all English here."""

from backoffice.formats.en.formats import *  # noqa: F403  (Django reads one module a language)
