"""Recovery: seconds from the kill -9 of a worker to its job running again elsewhere."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.bench import measuring
from tests.probe_jobs import processes


def run(*, rows: int, quick: bool) -> Iterator[dict[str, Any]]:
    """Kill the parent in the middle of a step, with a second worker idle and the scheduler running."""
    import tests.probe_jobs.definitions.probes  # noqa: F401  (registers the probes)
    from backoffice import jobs
    from backoffice.jobs.base import kinds
    from backoffice.tenants import scope
    from tests import factories

    lease = kinds.get("probe.gated").lease.total_seconds()
    took = []
    with scope.open(factories.make_tenant()), processes.running("scheduler"):
        for turn in range(1 if quick else 5):
            with tempfile.TemporaryDirectory() as name, processes.running("worker", "interactive") as first:
                folder = Path(name)
                job = jobs.submit(kind="probe.gated", key=f"recovery-{turn}", arguments={"folder": name})
                processes.wait_until((folder / "entered-1").exists, within=60)
                with processes.running("worker", "interactive") as second:
                    time.sleep(6)  # it has started and waits for a message
                    first.kill()
                    began = time.monotonic()
                    processes.wait_until((folder / "entered-2").exists, within=60)
                    took.append(time.monotonic() - began)
                    (folder / "go").touch()
                    processes.wait_until(lambda job=job: type(job).objects.get(pk=job.pk).is_final, within=30)
                    assert second.poll() is None
    yield measuring.result(
        case=f"kill -9 of a worker's parent, lease {lease:.0f} s",
        rows=len(took),
        unit="s",
        ours=statistics.median(took),
        peer=None,
        limit=2 * lease,
        smaller_is_better=True,
    )
