"""Remember which rules the passed tests proved, for `python -m tests.rules`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

RULES = Path(__file__).parent / "rules.tsv"
# Faults that users of other systems met, when that list lies beside the project. `case("QC-01")` names one.
CASES = Path(__file__).parents[2] / "shared" / "cases" / "cases.jsonl"


def known_rules() -> dict[str, str]:
    """Return each rule's area by its id."""
    rows = [line.split("\t") for line in RULES.read_text(encoding="utf-8").splitlines()[1:]]
    return {row[0]: row[1] for row in rows}


def known_cases() -> dict[str, str]:
    """Return each case's area by its id; nothing where the list is absent."""
    if not CASES.exists():
        return {}
    rows = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines() if line.strip()]
    return {row["id"]: row["area"] for row in rows}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuse a mark that names no rule or case; keep only the marked tests when a matrix is asked for."""
    rules, cases = known_rules(), known_cases()
    wanted = os.environ.get("BACKOFFICE_RULES_FILE")
    kept = []
    for item in items:
        named = [rule for mark in item.iter_markers("proves") for rule in mark.args]
        unknown = [rule for rule in named if rule not in rules]
        if unknown:
            raise pytest.UsageError(f"{item.nodeid} proves unknown rules: {', '.join(unknown)}")
        strange = [case for mark in item.iter_markers("case") for case in mark.args if cases and case not in cases]
        if strange:
            raise pytest.UsageError(f"{item.nodeid} names unknown cases: {', '.join(strange)}")
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
