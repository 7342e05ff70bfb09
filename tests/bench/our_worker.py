"""Our worker over the jobs that wait. Prints the seconds its burst took."""

from __future__ import annotations

import logging
import sys
import time

import django


def main() -> None:
    """Work the interactive queue empty."""
    django.setup()
    logging.disable(logging.CRITICAL)
    from backoffice.jobs.worker import JobWorker

    began = time.monotonic()
    JobWorker("interactive").run_forever(burst=True)
    sys.stdout.write(f"{time.monotonic() - began}\n")


if __name__ == "__main__":
    main()
