"""The structure stays as it was meant: layers, small files, one home for each vendor library."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("backoffice", "queues", "exports", "reports")
VENDORS = {
    "rq": "backoffice/jobs",
    "boto3": "backoffice/storage",
    "pyotp": "backoffice/stepup",
    "dbos": "backoffice/sagas",
}

# Every place that looks past the tenant scope, and how often. Adding one is a decision: its reason
# is in the code beside it.
UNSCOPED = {
    "backoffice/jobs/mailing.py": 1,
    "backoffice/jobs/reaching.py": 1,
    "backoffice/jobs/reconciling.py": 2,
    "backoffice/livesettings/reading.py": 1,
    "backoffice/people/inviting.py": 1,
    "backoffice/people/views.py": 1,
    "backoffice/schedules/expiring.py": 1,
    "backoffice/schedules/fanning_out.py": 2,
    "backoffice/schedules/opening.py": 1,
    "backoffice/schedules/overview.py": 1,
    "exports/expiring.py": 1,
    "queues/bulk_forgetting.py": 1,
    "queues/money/sweeping.py": 1,
    "queues/overriding.py": 1,
    "queues/sweeping.py": 1,
    "queues/tallying.py": 1,
}


def _sources(*folders: str) -> Iterator[Path]:
    for folder in folders:
        yield from (p for p in sorted((ROOT / folder).rglob("*.py")) if "migrations" not in p.parts)


def test_imports_point_down() -> None:
    run = subprocess.run(
        [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_no_file_is_past_400_lines() -> None:
    long = {
        str(p.relative_to(ROOT)): n
        for p in _sources(*PACKAGES, "tests")
        if (n := len(p.read_text().splitlines())) > 400
    }
    assert not long, f"split these in two: {long}"


def test_no_module_is_named_for_nothing() -> None:
    vague = {"utils", "services", "helpers", "misc", "common"}
    assert not [str(p) for p in _sources(*PACKAGES) if p.stem in vague or p.parent.name in vague]


@pytest.mark.parametrize(("library", "home"), VENDORS.items())
def test_each_vendor_library_is_imported_in_one_package(library: str, home: str) -> None:
    elsewhere = [
        str(p.relative_to(ROOT))
        for p in _sources(*PACKAGES)
        if library in _imported(p) and not str(p.relative_to(ROOT)).startswith(home)
    ]
    assert not elsewhere


def test_nothing_imports_a_definitions_module_or_where_all_is_put_together() -> None:
    forbidden = re.compile(r"\.definitions\.|^backoffice\.(settings|urls|site)$")
    wrong = [(str(p.relative_to(ROOT)), m) for p in _sources(*PACKAGES) for m in _modules(p) if forbidden.search(m)]
    assert not wrong


def test_every_look_past_the_scope_is_listed() -> None:
    found = {}
    for path in _sources(*PACKAGES):
        tree = ast.parse(path.read_text())
        constants = {
            target.id: node.value.value
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        calls = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == "unscoped"
        ]
        for call in calls:
            said = next(k.value for k in call.keywords if k.arg == "reason")
            reason = said.value if isinstance(said, ast.Constant) else constants[said.id]
            assert len(reason) > 15, f"{path}: unscoped() says why"
        if calls:
            found[str(path.relative_to(ROOT))] = len(calls)
    assert found == UNSCOPED


def test_machine_local_time_is_never_read() -> None:
    local = re.compile(
        r"datetime\.now\(\)|datetime\.today\(|date\.today\(|utcnow\(|time\.localtime\(|fromtimestamp\([^,()]*\)"
    )
    assert not [str(p) for p in _sources(*PACKAGES) if local.search(p.read_text())]


def test_every_suppression_says_why() -> None:
    bare = re.compile(r"#\s*(noqa(:\s*[A-Z0-9, ]+)?|type:\s*ignore(\[[^\]]*\])?)\s*$", re.MULTILINE)
    wrong = [
        f"{p.relative_to(ROOT)}: {m.group(0)}"
        for p in _sources(*PACKAGES, "tests")
        for m in bare.finditer(p.read_text())
    ]
    assert not wrong


def _modules(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def _imported(path: Path) -> set[str]:
    return {module.split(".")[0] for module in _modules(path)}
