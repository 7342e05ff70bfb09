"""Start the real servers once for a test run, before Django reads its settings.

Loaded by `-p tests.servers`. PostgreSQL, Valkey and S3 come from the wheels the product itself
starts; their data lies in a temporary folder and is gone after the run.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path

from backoffice.stack.servers import Servers


def _start() -> None:
    folder = Path(tempfile.mkdtemp(prefix="backoffice-tests-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name in ("DATABASE_URL", "DATABASE_OWNER_URL", "REDIS_URL", "S3_ENDPOINT_URL"):
        os.environ.pop(name, None)  # a test run never touches servers of somebody's own
    servers = Servers(folder, durable=False)
    os.environ.update(servers.start())
    atexit.register(servers.stop)
    os.environ["BACKOFFICE_DATA"] = str(folder)
    os.environ["DJANGO_SETTINGS_MODULE"] = "backoffice.settings"


if not {"--help", "-h", "--version", "--markers"} & set(sys.argv):
    _start()
