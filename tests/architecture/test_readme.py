"""The README's table of what a team adds is true."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from backoffice.registry import Definition, registries

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(
    r"^\| (?P<what>an? [a-z ]+) \| `(?P<base>[\w.]+)` \| (?P<place>.+?) \| `(?P<example>[\w/]+\.py)` \|$", re.M
)
ROWS = [m.groupdict() for m in ROW.finditer((ROOT / "README.md").read_text(encoding="utf-8"))]


@pytest.mark.parametrize("row", ROWS, ids=[row["what"] for row in ROWS])
def test_each_row_names_a_base_and_an_example_that_registers_one(row: dict[str, str]) -> None:
    module, _, name = row["base"].rpartition(".")
    base = getattr(importlib.import_module(module), name)
    assert issubclass(base, Definition)
    example = row["example"].removesuffix(".py").replace("/", ".")
    found = [d for registry in registries for d in registry if type(d).__module__ == example]
    assert any(isinstance(d, base) for d in found), f"{row['example']} registers no {name}"


def test_the_table_covers_every_kind_of_definition() -> None:
    kinds = {
        base for registry in registries for d in registry for base in type(d).__mro__ if Definition in base.__bases__
    }
    listed = {row["base"].rpartition(".")[2] for row in ROWS}
    assert {kind.__name__ for kind in kinds} == listed
