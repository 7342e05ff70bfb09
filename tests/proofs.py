"""Remember which rules the passed tests proved, for `python -m tests.rules`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

RULES = Path(__file__).parent / "rules.tsv"


def known_rules() -> dict[str, str]:
    """Return each rule's area by its id."""
    rows = [line.split("\t") for line in RULES.read_text(encoding="utf-8").splitlines()[1:]]
    return {row[0]: row[1] for row in rows}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuse a mark that names no rule; keep only the marked tests when a matrix is asked for."""
    rules = known_rules()
    wanted = os.environ.get("BACKOFFICE_RULES_FILE")
    kept = []
    for item in items:
        named = [rule for mark in item.iter_markers("proves") for rule in mark.args]
        unknown = [rule for rule in named if rule not in rules]
        if unknown:
            raise pytest.UsageError(f"{item.nodeid} proves unknown rules: {', '.join(unknown)}")
        if named:
            kept.append(item)
    if wanted:
        area = os.environ.get("BACKOFFICE_RULES_AREA", "")
        items[:] = [
            item
            for item in kept
            if not area or any(rules[rule] == area for mark in item.iter_markers("proves") for rule in mark.args)
        ]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):  # type: ignore[no-untyped-def]  # pytest's own shape
    report = (yield).get_result()
    file = os.environ.get("BACKOFFICE_RULES_FILE")
    if not file or report.when != "call":
        return
    named = [rule for mark in item.iter_markers("proves") for rule in mark.args]
    if named:
        with Path(file).open("a", encoding="utf-8") as lines:
            lines.write(json.dumps({"test": item.nodeid, "outcome": report.outcome, "rules": named}) + "\n")
