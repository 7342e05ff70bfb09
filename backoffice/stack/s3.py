"""The embedded object storage: SeaweedFS in one process, with one bucket."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from backoffice.stack import binaries, children, identity, signing
from backoffice.stack.ports import LOOPBACK
from backoffice.stack.state import BUCKET

PARTS = ("master", "volume", "filer", "s3", "admin")
PORTS = tuple(name for part in PARTS for name in (part, f"{part}_grpc"))
# The maintenance worker looks for the admin part's second port at this distance, whatever it was told.
BESIDE = {"admin_grpc": ("admin", 10_000)}
READINESS = "backoffice-readiness"  # a bucket of its own: the product's holds nothing but its objects
REGION = "us-east-1"
STOP_SIGNAL = signal.SIGTERM

# Only the S3 gateway may read and write behind the S3 port: these keys are its alone.
SECURITY = """\
[jwt.signing]
key = "{volume_jwt}"
[jwt.filer_signing]
key = "{filer_jwt}"
[jwt.filer_signing.read]
key = "{filer_read_jwt}"
"""


def url(port: int) -> str:
    """Return the endpoint's address."""
    return f"http://{LOOPBACK}:{port}"


def start(place: children.Place, ports: Mapping[str, int], secrets: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Write the configuration and start the server, which makes the bucket when it is missing."""
    folder = place.folder
    objects = folder / "objects"
    folder.mkdir(mode=0o700, exist_ok=True)
    objects.mkdir(mode=0o700, exist_ok=True)
    actions = ["Admin", "Read", "Write", "List", "Tagging"]
    key = {"accessKey": secrets["s3_key"], "secretKey": secrets["s3_secret"]}
    people = {"identities": [{"name": "backoffice", "credentials": [key], "actions": actions}]}
    for name, content in (("security.toml", SECURITY.format(**secrets)), ("s3.json", json.dumps(people))):
        (folder / name).touch(mode=0o600)
        (folder / name).write_text(content, encoding="utf-8")
    # It keeps last time's options here, ports included, and would read them again.
    (objects / "mini.options").unlink(missing_ok=True)
    forget_sockets(ports)
    for owned in (folder, folder / "security.toml", folder / "s3.json"):
        identity.hand_over(owned, place.as_who)

    options = [f"-{part}.port={ports[part]}" for part in PARTS]
    options += [f"-{part}.port.grpc={ports[part + '_grpc']}" for part in PARTS]
    options += [f"-ip={LOOPBACK}", f"-ip.bind={LOOPBACK}", f"-dir={objects}", f"-bucket={BUCKET},{READINESS}"]
    options += ["-s3.config=s3.json", "-s3.iam=false", "-s3.port.iceberg=0", "-s3.port.lance=0"]
    options += ["-filer.localSocket=filer.sock", "-s3.localSocket=s3.sock"]
    options += ["-webdav=false", "-admin.ui=false", "-master.telemetry=false", "-volume.preStopSeconds=0"]
    # It reads security.toml from its working folder, and then from below HOME.
    environment = {"HOME": str(folder), "TZ": "UTC", "GOMEMLIMIT": "256MiB", "PATH": "/usr/bin:/bin"}
    # Without -logtostderr it writes log files of its own into /tmp.
    command: list[str | Path] = [binaries.seaweedfs(), "-logtostderr=true", "mini", *options]
    return children.spawn(command, place, environment=environment)


def is_ready(secrets: Mapping[str, str], port: int) -> bool:
    """Say whether the bucket is there and an object can be read, made by an earlier start or now.

    The gateway answers for buckets a moment before it knows where the objects of an earlier run are.
    """

    def ask(method: str, path: str) -> int:
        # An empty object would be kept beside the names, and tell nothing about the volumes.
        body = b"ready" if method == "PUT" else b""
        return signing.send(endpoint=url(port), secrets=secrets, method=method, path=path, body=body, timeout=5)[0]

    with contextlib.suppress(OSError):
        if ask("HEAD", f"/{BUCKET}") != 200:
            return False
        found = ask("GET", f"/{READINESS}/object")
        return found == 200 or (found == 404 and ask("PUT", f"/{READINESS}/object") == 200)
    return False


def forget_sockets(ports: Mapping[str, int]) -> None:
    """Remove the sockets that a killed server left in /tmp, where it insists on making them."""
    for part in PARTS:
        with contextlib.suppress(OSError):
            Path(f"/tmp/seaweedfs-{part}-grpc-{ports[part + '_grpc']}.sock").unlink()  # noqa: S108 - its choice
