"""Liveness of a manager that was found: probes of its servers, and what is said while it is silent.

A process that was stopped, or hangs, lets others connect and never answers. Its file stays, and so
do the locks that it holds.
"""

from __future__ import annotations

import time
from contextlib import contextmanager, suppress
from datetime import datetime
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from dbt.adapters.spark_mt.client import discovery

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dbt.adapters.spark_mt.client.discovery import Discovered


PROBE_S = 3.0
_PROBE_EVERY_S = 5.0
_SAY_AFTER_S = 10.0
_SAY_EVERY_S = 60.0
_STOPPED = frozenset("Tt")


def silent_servers(manager: Discovered, timeout_s: float = PROBE_S) -> tuple[str, ...]:
    """Return the URLs at which a manager does not answer within a bound: Spark Connect, REST."""
    silent = []
    if manager.connect_url and not discovery.answers(manager, timeout_s):
        silent.append(manager.connect_url)
    if manager.rest_url and not _is_http_alive(manager.rest_url, timeout_s):
        silent.append(manager.rest_url)
    return tuple(silent)


def _is_http_alive(url: str, timeout_s: float) -> bool:
    """Whether a server answers at all: what it answers says nothing of its process."""
    parts = urlsplit(url)
    connection = HTTPConnection(parts.hostname or "localhost", parts.port, timeout=timeout_s)
    try:
        connection.request("GET", "/livez")
        connection.getresponse().read()
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()
    return True


class Silence:
    """How long a manager has been silent, and what is to be said of it when.

    Args:
        manager: The manager.
        say_after_s: For how many seconds it must be silent before that is said.
        clock: The time of day.
    """

    def __init__(
        self,
        manager: Discovered,
        say_after_s: float = _SAY_AFTER_S,
        clock: Callable[[], datetime] = datetime.now,
    ) -> None:
        self._manager = manager
        self._say_after_s = say_after_s
        self._clock = clock
        self._since: float | None = None
        self._began = clock()
        self._said: float | None = None

    def note(self, silent: Sequence[str], now: float) -> str:
        """Note the URLs at which it does not answer, and return a message; empty for none.

        Args:
            silent: The URLs; empty where it answers at each.
            now: In seconds of a clock that only advances.
        """
        if not silent:
            was_said = self._said is not None
            self._since = self._said = None
            return f"The refresh manager ({self._manager.owner}) answers again." if was_said else ""
        if self._since is None:
            self._since, self._began = now, self._clock()
        is_early = now - self._since < self._say_after_s
        if is_early or (self._said is not None and now - self._said < _SAY_EVERY_S):
            return ""
        self._said = now
        return f"Waiting for {self.described(silent)} Ctrl-C ends the wait."

    def described(self, silent: Sequence[str]) -> str:
        """Return who does not answer where, since when, and how to stop it."""
        pid = self._manager.owner.pid
        state = _stopped(pid)
        go_on = f" `kill -CONT {pid}` lets it continue;" if state else ""
        return (
            f"the refresh manager ({self._manager.owner}), which has not answered at "
            f"{' and '.join(silent)} since {self._began:%Y-%m-%d %H:%M:%S}{state}.{go_on} "
            f"`kill -KILL {pid}` ends it, and with it what it runs; refreshes commit as a whole "
            "or not at all."
        )


def _stopped(pid: int) -> str:
    """Return that a process is stopped, where the system says so."""
    with suppress(OSError):
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        if status.rpartition(")")[2].split()[0] in _STOPPED:
            return f": its process {pid} is stopped (SIGSTOP)"
    return ""


@contextmanager
def watched(
    manager: Discovered,
    say: Callable[[str], object],
    every_s: float = _PROBE_EVERY_S,
    probe: Callable[[Discovered], Sequence[str]] = silent_servers,
) -> Iterator[None]:
    """Say while the block waits for a manager that the manager has fallen silent, and since when.

    Args:
        manager: The manager.
        say: Called with each message, in another thread.
        every_s: How often it is probed.
        probe: Returns the URLs at which it does not answer.
    """
    is_over = Event()

    def look() -> None:
        silence = Silence(manager)
        while not is_over.wait(every_s):
            silent = probe(manager)
            if not is_over.is_set() and (message := silence.note(silent, time.monotonic())):
                say(message)

    Thread(target=look, name="manager-liveness", daemon=True).start()
    try:
        yield
    finally:
        is_over.set()
