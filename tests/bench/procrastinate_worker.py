"""The other peer: procrastinate's worker over PostgreSQL, one task at a time, in its own process without forks.

Prints the seconds in which it worked off as many jobs that do nothing as the argument says.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import time

from procrastinate import App, PsycopgConnector

QUEUE = "bare"
logging.disable(logging.CRITICAL)
app = App(connector=PsycopgConnector(conninfo=os.environ["PROCRASTINATE_URL"], min_size=1, max_size=4))


@app.task(queue=QUEUE)
async def nothing() -> None:
    """Do nothing."""


async def main(count: int) -> float:
    """Fill the queue, then work it empty; return how long the work took."""
    async with app.open_async():
        await nothing.batch_defer_async(*({} for _number in range(count)))
        began = time.monotonic()
        await app.run_worker_async(queues=[QUEUE], concurrency=1, wait=False, install_signal_handlers=False)
        took = time.monotonic() - began
        done = await app.job_manager.list_jobs_async(queue=QUEUE, status="succeeded")
        left = await app.job_manager.list_jobs_async(queue=QUEUE, status="todo")
        assert len(list(done)) >= count and not list(left)
    return took


if __name__ == "__main__":
    sys.stdout.write(f"{asyncio.run(main(int(sys.argv[1])))}\n")
