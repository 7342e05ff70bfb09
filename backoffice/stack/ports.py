"""Choose ports on the loopback address."""

from __future__ import annotations

import random
import socket
from collections.abc import Mapping

LOOPBACK = "127.0.0.1"
# Below the range that Linux gives to outgoing connections, which come and go at any moment.
FIRST, LAST = 20_000, 31_000


def is_free(port: int) -> bool:
    """Say whether a server could listen on this port now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def choose(
    names: tuple[str, ...], *, last: Mapping[str, int], beside: Mapping[str, tuple[str, int]] | None = None
) -> dict[str, int]:
    """Give every name a free port: the one it had last if it can, so that addresses stay.

    `beside` maps a name to (another name, distance) where a server insists on that distance.
    """
    beside = beside or {}
    chosen: dict[str, int] = {}
    for name in names:
        if name in beside:
            continue
        distances = [distance for other, distance in beside.values() if other == name]
        port = last.get(name, 0)
        while not FIRST <= port < LAST or not all(
            candidate not in chosen.values() and is_free(candidate)
            for candidate in (port, *(port + distance for distance in distances))
        ):
            port = random.randrange(FIRST, LAST)  # noqa: S311 - a port is no secret
        chosen[name] = port
        for other, (anchor, distance) in beside.items():
            if anchor == name:
                chosen[other] = port + distance
    return chosen
