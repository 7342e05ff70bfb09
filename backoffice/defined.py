"""What is declared in code: queues, rules, jobs, exports, commands, each with what it says of itself.

`manage.py definitions` prints it, and the Definitions page shows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from backoffice.commands import registered
from backoffice.pages import Page
from backoffice.registry import registries


def everything() -> dict[str, list[dict[str, Any]]]:
    """Return every definition by its kind, in the order of the names."""
    found = {registry.kind: [definition.describe() for definition in registry] for registry in registries}
    found["command"] = [
        {"name": one.name, "permission": one.permission, "systems": list(one.systems)} for one in registered()
    ]
    return dict(sorted(found.items()))


class Definitions(Page):
    """Show what is declared, kind by kind, to those who run the queues and to operators."""

    permission = "registry.view_definition"
    title = _("Definitions")
    template_name = "definitions.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        wanted = request.GET.get("q", "").replace("\x00", "").strip()[:100]
        kinds = [
            {"kind": kind, "all": len(entries), "entries": [_entry(one) for one in entries if _has(one, wanted)]}
            for kind, entries in everything().items()
        ]
        return self.page({"kinds": [kind for kind in kinds if kind["entries"]], "query": wanted})


def _has(entry: Mapping[str, Any], wanted: str) -> bool:
    return wanted.casefold() in str(entry.get("name", "")).casefold()


def _entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    said = [
        (name.replace("_", " "), lines) for name, value in entry.items() if name != "name" and (lines := _lines(value))
    ]
    return {"name": entry["name"], "said": said}


def _lines(value: Any) -> list[str]:
    """Write a value as the lines of its cell; nothing for an empty one."""
    if value is None or value == "" or value == [] or value == {}:
        return []
    if isinstance(value, Mapping):
        return [f"{name}: {', '.join(_lines(inner))}" for name, inner in value.items() if _lines(inner)]
    if isinstance(value, list | tuple):
        return [", ".join(_lines(one)) for one in value]
    if isinstance(value, bool):
        return ["yes" if value else "no"]
    return [str(value)]
