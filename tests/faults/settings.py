"""The probe jobs' settings, with a clock that may be wrong: `FAULTS_CLOCK_SHIFT` seconds."""

import os
from datetime import UTC, datetime, timedelta

import time_machine

from tests.worker_settings import *  # noqa: F403  (settings are a module of names)

SHIFT = float(os.environ.get("FAULTS_CLOCK_SHIFT", "0"))
if SHIFT:
    time_machine.travel(datetime.now(tz=UTC) + timedelta(seconds=SHIFT), tick=True).start()
