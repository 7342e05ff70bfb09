"""What a report must state, and where its parts lie."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from backoffice import sql
from backoffice.livesettings import settings
from exports.base import Audit, exports
from exports.columns import Column, Kind
from reports import providing
from reports.base import Plot, ReportBounds, reports

ROOT = Path(__file__).resolve().parents[2]
AGEING = reports.get("payout-ageing")
DEFINITIONS = sorted({ROOT / f"{type(one).__module__.replace('.', '/')}.py" for one in [*exports, *reports]})


def ids(**changed: Any) -> list[str]:
    broken = type("Broken", (type(AGEING),), changed)
    return [str(message.id) for message in broken().check()]


def test_the_ageing_report_is_found_and_sound() -> None:
    assert AGEING.check() == []


@pytest.mark.proves("jobs#record-reporting-need", "jobs#avoid-speculative-reporting-systems")
def test_a_report_without_its_whole_need_is_e001() -> None:
    assert AGEING.need is not None
    assert ids(need=None) == ["reports.E001"]
    for part in ("report", "volume", "plan", "latency", "maximum", "operator"):
        assert ids(need=replace(AGEING.need, **{part: None})) == ["reports.E001"]
    assert set(AGEING.describe()["need"]) == {"report", "volume", "plan", "latency_seconds", "maximum", "operator"}
    assert not [report.name for report in reports if report.need is None or report.need.missing()]


@pytest.mark.proves("jobs#define-report-limits")
def test_every_bound_is_a_setting_and_a_bound_that_is_none_is_e007() -> None:
    for report in reports:
        names = report.stated_bounds().names()
        assert set(names) == {"days", "rows", "seconds", "concurrent", "megabytes", "lifetime_hours"}
        assert all(name in settings for name in names.values())
    for export in exports:
        assert all(name in settings for name in export.stated_bounds().names().values())
    names = AGEING.stated_bounds().names()
    assert ids(bounds=None) == ["reports.E007"]
    for bound in names:
        assert ids(bounds=ReportBounds(**{**names, bound: "reports.unknown"})) == ["reports.E007"]


@pytest.mark.parametrize(
    ("option", "value", "code"),
    [
        ("sql", "nothing.sql", "reports.E002"),
        ("sql", "", "reports.E002"),
        ("permission", "queues.nobody", "reports.E004"),
        ("contact", "", "reports.E005"),
        ("audit", Audit(reason="", target="reports"), "reports.E006"),
        ("encodings", (), "reports.E008"),
        ("plot", Plot("", label="nothing", value="payouts"), "reports.E009"),
    ],
)
def test_each_option_has_its_own_check(option: str, value: Any, code: str) -> None:
    assert ids(**{option: value}) == [code]


def test_a_column_stated_twice_is_e003() -> None:
    assert ids(columns=(*AGEING.columns, Column("payouts", Kind.INTEGER))) == ["reports.E003"]


@pytest.mark.proves("jobs#parameterize-report-sql")
def test_report_sql_binds_every_value_and_always_tenant_and_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for report in reports:
        text = re.sub(r"--.*", "", sql.read(providing.FOLDER / report.sql))
        assert set(re.findall(r"%\((\w+)\)s", text)) >= providing.ALWAYS
        # Every comparison is with a bound value: no literal but the edges of a label's range.
        assert re.search(r"tenant_id = %\(tenant\)s", text) and re.search(r"LIMIT %\(row_limit\)s", text)
        assert not re.search(r"%[^(]|\{|\|\|", text), "nothing is formatted into it"
    (tmp_path / "loose.sql").write_text("SELECT 1 AS days_old FROM queues_payout LIMIT 5")
    monkeypatch.setattr(providing, "FOLDER", tmp_path)
    assert ids(sql="loose.sql") == ["reports.E002", "reports.E002"]


def _imports(file: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


PROVIDERS = re.compile(r"^(psycopg|boto3|django\.db\.connection|backoffice\.(reading|storage|sql))")
QUERY = re.compile(r"\b(SELECT|INSERT|UPDATE|DELETE|COPY)\b.*\b(FROM|INTO|SET|TO)\b", re.S)


def _strings(file: Path) -> list[str]:
    tree = ast.parse(file.read_text())
    return [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]


@pytest.mark.proves("jobs#keep-report-definitions-in-application", "jobs#keep-raw-sql-in-infrastructure")
def test_definitions_know_neither_sql_nor_connections_nor_storage() -> None:
    assert len(DEFINITIONS) >= 2
    for file in [*DEFINITIONS, ROOT / "reports" / "base.py", ROOT / "exports" / "base.py"]:
        assert not [name for name in _imports(file) if PROVIDERS.match(name)], file
        assert not [text for text in _strings(file) if QUERY.search(text)], file


@pytest.mark.proves("jobs#keep-report-providers-in-infrastructure", "jobs#keep-raw-sql-in-infrastructure")
def test_sql_and_connections_lie_with_the_providers_alone() -> None:
    providers = {"reports/providing.py", "exports/providing.py"}
    for folder in ("reports", "exports"):
        for file in sorted((ROOT / folder).glob("*.py")):
            name = str(file.relative_to(ROOT))
            if name in providers:
                continue
            assert not [text for text in _strings(file) if QUERY.search(text)], name
            assert not [one for one in _imports(file) if re.match(r"(psycopg|boto3|django\.db\.connection)", one)], name
    assert [file.name for file in (ROOT / "reports" / "sql").iterdir()] == [report.sql for report in reports]


@pytest.mark.proves("jobs#separate-worker-orchestration")
def test_running_knows_no_rule_of_a_report_and_a_report_nothing_of_running() -> None:
    for name in ("reports/running.py", "exports/running.py", "exports/pipeline.py", "exports/watching.py"):
        text = (ROOT / name).read_text()
        assert "payout" not in text.lower() and "queues" not in text, f"{name} names one report's matter"
    orchestration = re.compile(r"backoffice\.jobs|\.running|\.pipeline|\.watching")
    for file in DEFINITIONS:
        assert not [name for name in _imports(file) if orchestration.search(name)], file


def test_a_range_ends_with_the_day_that_ages_count_to() -> None:
    values = {"as_of": date(2026, 3, 1), "opened_from": date(2026, 1, 1), "opened_to": date(2026, 6, 1)}
    assert AGEING.range_of(values) == (date(2026, 1, 1), date(2026, 3, 1))
