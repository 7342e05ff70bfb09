"""Break the product for a while and check what its record says: `python -m tests.faults --minutes 5 --seed S`."""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.faults.world import World

SETTLE_WITHIN = 150.0
CLICK_EVERY = 0.4
LOOK_EVERY = 1.0
LATE = 30.0  # a slow machine gets this much longer for what is planned


def main() -> int:
    """Run and print the summary as JSON; 0 when nothing is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="how long faults are injected")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", action="store_true", help="keep the folder with the logs")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="backoffice-faults-"))
    world = World(folder)
    try:
        world.open()
        summary = run(world, seed=options.seed, seconds=options.minutes * 60)
    finally:
        world.close()
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    if options.keep:
        summary["folder"] = str(folder)
    sys.stdout.write(json.dumps(summary, indent=2) + "\n")
    return 0 if not summary["problems"] else 1


def run(world: World, *, seed: int, seconds: float) -> dict[str, Any]:
    """Inject, let the product come to rest, and check."""
    import django  # after the servers: the settings read where they are

    django.setup()
    from django.core.management import call_command
    from django.db import connections

    call_command("migrate", database="owner", interactive=False, verbosity=0)
    connections["owner"].close()

    from tests import factories
    from tests.faults import checking, injecting
    from tests.faults.load import Load

    chance = random.Random(seed)
    tenant = factories.make_tenant(slug="faults")
    person = factories.make_person(tenant=tenant, roles=("analyst",))
    load = Load(tenant=tenant, person=person, port=world.port, chance=chance)
    injector = injecting.Injector(world, load, chance)
    watcher = checking.Watcher()
    began = _warm_up(world, load)
    planned = injecting.plan(seed=seed, seconds=seconds)
    _break(injector, watcher, planned, began + seconds)
    injector.take_back(all_of_it=True)
    rested = _come_to_rest(world, load, watcher)
    settled = time.monotonic() - began
    _look(watcher)
    found = checking.problems(intentions=load.intentions, cancelled=load.cancelled, folder=world.folder)
    return {
        "seed": seed,
        "minutes": round(seconds / 60, 2),
        "faults": dict(sorted(injector.counts.items())),
        "faults_in_all": sum(injector.counts.values()),
        "process_starts": world.starts,
        "faults_planned": len(planned),
        "processes_with_a_wrong_clock": sum(1 for _command, shift in _crew().values() if shift),
        **_totals(world.folder),
        "requests": dict(sorted(load.counts.items())),
        "samples": watcher.samples,
        "seconds_until_all_settled": round(settled, 1),
        "problems": [*(["not all settled"] if not rested else []), *watcher.problems, *found][:50],
    }


def _crew() -> dict[str, Any]:
    from tests.faults.world import CREW

    return CREW


def _warm_up(world: World, load: Any) -> float:
    """Start the processes and wait until a first job has ended."""
    world.keep()
    load.go_on()
    until = time.monotonic() + 60
    while load.unsettled() == len(load.intentions) and time.monotonic() < until:
        world.keep()
        time.sleep(0.1)
    return time.monotonic()


def _break(injector: Any, watcher: Any, planned: list[Any], until: float) -> None:
    from django.db import connections

    began = time.monotonic()
    click_at = look_at = began
    waiting = list(planned)
    while time.monotonic() < until or (waiting and time.monotonic() < until + LATE):
        now = time.monotonic()
        injector.take_back()
        injector.world.keep()
        injector.load.go_on()
        if now >= click_at:
            click_at = now + CLICK_EVERY
            injector.load.click()
        if now >= look_at:
            look_at = now + LOOK_EVERY
            _look(watcher)
        if waiting and now - began >= waiting[0].at:
            before = injector.postgres_restarts
            injector.inject(waiting.pop(0).fault)
            if injector.postgres_restarts > before:
                watcher.forgive()
                for one in connections.all():
                    one.close()
        time.sleep(0.05)


def _look(watcher: Any) -> None:
    from django.db import DatabaseError, InterfaceError, connections

    try:
        watcher.look()
    except (DatabaseError, InterfaceError):
        connections.close_all()


def _come_to_rest(world: World, load: Any, watcher: Any) -> bool:
    """Let all that is wanted be submitted and all that is submitted end."""
    until = time.monotonic() + SETTLE_WITHIN
    while time.monotonic() < until:
        world.keep()
        for wanted in [one for one in load.intentions if one.job is None]:
            load.submit(wanted)
        if all(one.job is not None for one in load.intentions) and load.unsettled() == 0:
            return True
        _look(watcher)
        time.sleep(0.3)
    return False


def _totals(folder: Path) -> dict[str, Any]:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT state, count(*) FROM job GROUP BY 1 ORDER BY 1")
        states = dict(cursor.fetchall())
        cursor.execute("SELECT name, count(*) FROM job_event GROUP BY 1 ORDER BY 1")
        events = dict(cursor.fetchall())
    calls = (folder / "calls").read_text().split()
    effects = (folder / "effects").read_text().split()
    return {
        "jobs": sum(states.values()),
        "states": states,
        "events": events,
        "outside_calls": len(calls),
        "outside_effects": len(effects),
    }


if __name__ == "__main__":
    sys.exit(main())
