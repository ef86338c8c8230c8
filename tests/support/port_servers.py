"""Servers that tests run as processes of their own, each on a port of loopback."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

HOST = "127.0.0.1"


@dataclass
class PortServer:
    """A process that can be stopped and started again on the same port.

    Args:
        port: Where it listens.
        log: The file that gets what it prints. It works in the folder of this file.
        within: How long it may take until it accepts connections, in seconds.
    """

    port: int
    log: Path
    within: float
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def start(self, command: Sequence[str], variables: Mapping[str, str] | None = None) -> None:
        """Start it, and wait until it accepts connections.

        Args:
            command: The command.
            variables: What to add to the environment of this process.
        """
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own command
                command,
                cwd=self.log.parent,
                env={**os.environ, **(variables or {})},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        await_port(self.port, self._process, self.log, self.within)

    def kill(self) -> None:
        """End it at once, with every connection that it has."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


def await_port(port: int, server: subprocess.Popen[bytes], log: Path, within: float) -> None:
    """Wait until a server accepts connections.

    Args:
        port: Where it listens.
        server: Its process.
        log: What it prints.
        within: For how long, in seconds.

    Raises:
        RuntimeError: It does not, or has ended; with the last lines of its log.
    """
    until = time.monotonic() + within
    while time.monotonic() < until and server.poll() is None:
        with suppress(OSError):
            socket.create_connection((HOST, port), 1).close()
            return
        time.sleep(0.1)
    raise RuntimeError(log.read_text(encoding="utf-8")[-2000:])
