"""Measure: `python -m tests.bench [NAME ...] [--rows N] [--quick]`, one JSON object a line.

`ours`, `peer` and `limit` are medians of runs taken in turn within one process. `vs_peer` says how
many times better than the peer we are, `vs_limit` which share of the limit we reach.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import tempfile
from pathlib import Path

from backoffice.stack.servers import Servers

BENCHES = ("listing", "search", "schedules", "jobs", "recovery", "monitor", "rescore", "claims")


def main() -> int:
    """Start servers of our own in a temporary folder, run the benches named, print their lines."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of: {', '.join(BENCHES)} (all without one)")
    parser.add_argument("--rows", type=int, default=0, help="rows in the table; each bench has a default")
    parser.add_argument("--quick", action="store_true", help="a small size, to see that it runs")
    asked = parser.parse_args()
    unknown = set(asked.names) - set(BENCHES)
    if unknown:
        parser.error(f"no bench is named {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory(prefix="backoffice-bench-") as folder, Servers(Path(folder)) as servers:
        os.environ.update(servers.environment(), BACKOFFICE_DATA=folder, LOG_LEVEL="ERROR")
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backoffice.settings")
        import django
        from django.core.management import call_command

        django.setup()
        call_command("migrate", database="owner", interactive=False, verbosity=0)
        for name in asked.names or BENCHES:
            bench = importlib.import_module(f"tests.bench.{name}")
            for line in bench.run(rows=asked.rows, quick=asked.quick):
                print(json.dumps({"bench": name, **line}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
