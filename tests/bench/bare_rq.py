"""The peer: RQ's own fork worker over jobs that do nothing. Prints the seconds its burst took."""

from __future__ import annotations

import logging
import os
import sys
import time

import redis
from rq import Queue, Worker


def nothing() -> None:
    """Do nothing."""


def main() -> None:
    """Fill a queue of its own with as many jobs as the argument says, then work it empty."""
    logging.disable(logging.CRITICAL)
    broker = redis.Redis.from_url(os.environ["REDIS_URL"])
    queue = Queue("bare", connection=broker)
    for _number in range(int(sys.argv[1])):
        queue.enqueue("tests.bench.bare_rq.nothing")
    worker = Worker([queue], connection=broker)
    began = time.monotonic()
    worker.work(burst=True)
    sys.stdout.write(f"{time.monotonic() - began}\n")


if __name__ == "__main__":
    main()
