"""Print which rules of the specification are proved: `python -m tests.rules [--area AREA]`.

It runs the tests marked `@pytest.mark.proves(...)`. A rule is proved when at least one test names
it and every test that names it passed. Exit status 0 only when all rules asked for are proved.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from tests.proofs import known_rules


def main() -> int:
    """Run the marked tests and print the matrix."""
    rules = known_rules()
    parser = argparse.ArgumentParser(prog="python -m tests.rules", description=__doc__)
    parser.add_argument("--area", choices=sorted(set(rules.values())))
    area = parser.parse_args().area
    asked = [rule for rule, its_area in rules.items() if area in (None, its_area)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "outcomes.jsonl"
        environment = {**os.environ, "BACKOFFICE_RULES_FILE": str(file), "BACKOFFICE_RULES_AREA": area or ""}
        subprocess.run([sys.executable, "-m", "pytest", "-q", "tests"], env=environment, check=False)
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    outcomes: dict[str, list[str]] = defaultdict(list)
    for line in lines:
        entry = json.loads(line)
        for rule in entry["rules"]:
            outcomes[rule].append(entry["outcome"])
    proved = [rule for rule in asked if outcomes[rule] and set(outcomes[rule]) == {"passed"}]
    for rule in asked:
        if rule not in proved:
            why = "no test names it" if not outcomes[rule] else "a test that names it did not pass"
            print(f"missing  {rule}  ({rules[rule]}: {why})")
    print(f"proved {len(proved)} of {len(asked)}")
    return 0 if len(proved) == len(asked) else 1


if __name__ == "__main__":
    sys.exit(main())
