"""Ports of loopback that no process listens on."""

from __future__ import annotations

import socket
from contextlib import ExitStack


def free_ports(number: int) -> list[int]:
    """Return so many different ports; another process may take one before it is used."""
    with ExitStack() as opened:
        probes = [opened.enter_context(socket.socket()) for _ in range(number)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]


def free_port() -> int:
    """Return one of them."""
    return free_ports(1)[0]
