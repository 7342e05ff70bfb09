"""The servers themselves: whoever they run as and wherever they listen, the data stays."""

from __future__ import annotations

import os
from pathlib import Path

import psycopg
import pytest

from backoffice.stack import identity, signing
from backoffice.stack.problems import StackProblem
from backoffice.stack.servers import Servers


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes somebody else")
def test_data_outlives_a_change_of_identity_and_of_every_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path / "closed" / "data"
    data.parent.mkdir(mode=0o700)
    thing = {"path": "/backoffice/kept"}

    with monkeypatch.context() as patched:
        patched.setattr(identity, "choose", lambda: "nobody")
        with Servers(data, durable=False) as servers:
            found = servers.environment()
            with psycopg.connect(found["DATABASE_OWNER_URL"]) as connection:
                connection.execute("CREATE TABLE kept AS SELECT 'still here' AS word")
            address = {"endpoint": found["S3_ENDPOINT_URL"], "secrets": servers.secrets}
            assert signing.send(method="PUT", body=b"still here", **address, **thing)[0] == 200
    assert (data / "postgres").stat().st_uid == identity.NOBODY

    (data / "ports.json").unlink()
    with Servers(data, durable=False) as servers:
        again = servers.environment()
        assert again["DATABASE_OWNER_URL"] != found["DATABASE_OWNER_URL"]
        # The app may use what the owner made, and owns nothing itself.
        with psycopg.connect(again["DATABASE_URL"]) as connection:
            assert connection.execute("TABLE kept").fetchall() == [("still here",)]
        address = {"endpoint": again["S3_ENDPOINT_URL"], "secrets": servers.secrets}
        assert signing.send(method="GET", **address, **thing) == (200, b"still here")
        forged = {**servers.secrets, "s3_secret": "guessed"}
        assert signing.send(method="GET", endpoint=again["S3_ENDPOINT_URL"], secrets=forged, **thing)[0] == 403


def test_a_server_that_ends_by_itself_is_named(tmp_path: Path) -> None:
    with Servers(tmp_path, durable=False, postgres=False, s3=False) as servers:
        assert set(servers.environment()) == {"SECRET_KEY", "FIELD_KEY", "REDIS_URL"}
        servers.check_alive()
        child = servers.running["valkey"]
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        with pytest.raises(StackProblem, match=r"Valkey ended unexpectedly \(status -9\); the last line of .*valkey"):
            servers.check_alive()
