"""Connection target: a Spark of this process, a server of the user or that of a manager.

The command line connects as dbt does, so this module loads neither dbt nor PySpark.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote

from dbt.adapters.spark_mt.__version__ import version
from dbt.adapters.spark_mt.client import discovery
from dbt.adapters.spark_mt.client.liveness import Silence, silent_servers
from dbt.adapters.spark_mt.spark.launch.session import embedded_metastore, is_running_here

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path


_LOOPBACK = frozenset({"127.0.0.1", "::1", "[::1]"})
_START_S = 120.0
_SILENCE_S = 60.0
_POLL_EVERY_S = 0.2


@dataclass(frozen=True, slots=True)
class SparkTarget:
    """The Spark that a process works with.

    Args:
        why: The reason, a sentence without its end.
        url: Of Spark Connect, with the token; empty for a Spark of this process.
        manager: Whose Spark it is, if a manager's.
        is_fixed: The user named this target; a manager was not looked for.
    """

    why: str
    url: str = field(default="", repr=False)
    manager: discovery.Discovered | None = None
    is_fixed: bool = False

    @property
    def is_connect(self) -> bool:
        """Whether Spark is another process."""
        return bool(self.url)


def automatic_target(
    requested: Mapping[str, str],
    home: Path,
    say: Callable[[str], None] = lambda _: None,
    wait_s: float = _START_S,
) -> SparkTarget:
    """Take the Spark of the manager that serves the same warehouse; without one, one's own.

    Args:
        requested: The user's confs, which may say where the metastore is.
        home: Where the metastore is otherwise.
        say: Called with a sentence when a manager that starts, or does not answer, is waited for.
        wait_s: For how many seconds at most.
    """
    if is_running_here():
        return SparkTarget("Spark runs in this process already")
    metastore = embedded_metastore(requested, home)
    if metastore is None:
        return SparkTarget("there is no embedded metastore, and so no file of a manager")
    path = discovery.place(metastore)
    found = _started(path, say, wait_s)
    if isinstance(found, discovery.NotFound):
        return SparkTarget(found.reason)
    return _manager_target(found, path, say, min(wait_s, _SILENCE_S))


def server_url(host: str, port: int, token: str | None, *, use_ssl: bool) -> str:
    """The Spark Connect URL of a server, with the token in it.

    PySpark shows a token without TLS to a server that is called `localhost` only, and tries TLS
    with all others, loopback addresses too.

    Args:
        host: As a name, an address or `sc://name`.
        port: The port.
        token: What the server asks for, if it does.
        use_ssl: Whether the server uses TLS.
    """
    host = host.removeprefix("sc://").rstrip("/")
    if token and not use_ssl and host in _LOOPBACK:
        host = "localhost"
    url = f"sc://{host}:{port}/;use_ssl={str(use_ssl).lower()}"
    return f"{url};token={quote(token, safe='')}" if token else url


def _manager_target(
    manager: discovery.Discovered, path: Path, say: Callable[[str], None], wait_s: float
) -> SparkTarget:
    who = f"the refresh manager of this warehouse ({manager.owner})"
    if manager.is_starting:
        return SparkTarget(f"{who} has not begun to serve Spark Connect")
    silence = Silence(manager, say_after_s=0)
    deadline = time.monotonic() + wait_s
    while silent := silent_servers(manager):
        now = time.monotonic()
        message = silence.note(silent, now)
        gone = discovery.read(path)
        if isinstance(gone, discovery.NotFound):
            return SparkTarget(gone.reason)
        if now >= deadline:
            return SparkTarget(f"it does not wait any longer for {silence.described(silent)[:-1]}")
        if message:
            say(message)
        time.sleep(_POLL_EVERY_S)
    if manager.version not in {"", version}:
        say(
            f"The refresh manager runs dbt-spark-mt {manager.version}, and this is {version}: "
            f"start the manager again, so that both are the same ({manager.owner})."
        )
    url = f"{manager.connect_url}/;token={quote(manager.connect_token, safe='')}"
    return SparkTarget(f"{who} serves Spark Connect at {manager.connect_url}", url, manager)


def _started(
    path: Path, say: Callable[[str], None], wait_s: float
) -> discovery.Discovered | discovery.NotFound:
    """Read a manager's file, until what starts has started or is gone."""
    deadline = time.monotonic() + wait_s
    found = discovery.read(path)
    if isinstance(found, discovery.Discovered) and found.is_starting:
        say(f"Waiting for the refresh manager to start ({found.owner}) …")
    while (
        isinstance(found, discovery.Discovered)
        and found.is_starting
        and time.monotonic() < deadline
    ):
        time.sleep(_POLL_EVERY_S)
        found = discovery.read(path)
    return found
