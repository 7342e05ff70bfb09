"""Every fault of other systems that concerns what is built is named by a test that rules it out."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.proofs import CASES, known_cases

TESTS = Path(__file__).resolve().parents[1]
AREAS = {
    *("queue/claim", "score/order", "admin-ui", "tenant/authz", "job-engine", "bulk money", "TOTP", "report"),
    *("export-csv", "export-xlsx", "s3", "schedule"),
}
# What no test can rule out yet, and why.
WAITING = {
    "S3-06": "no file is written as Parquet",
    "S3-07": "no file is written as Parquet",
}


def _named() -> set[str]:
    """Return what every `@pytest.mark.case(...)` of the tests names."""
    found = set()
    for file in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "case":
                found |= {one.value for one in node.args if isinstance(one, ast.Constant)}
    return found


@pytest.mark.skipif(not CASES.exists(), reason="the list of other systems' faults is not beside the project")
def test_every_case_of_what_is_built_is_named_by_a_test() -> None:
    named = _named()
    left = {case: area for case, area in known_cases().items() if area in AREAS and case not in named}
    assert left == {case: known_cases()[case] for case in WAITING}
