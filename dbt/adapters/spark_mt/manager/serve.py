"""Process of the refresh manager (`spark-mt serve`)."""

from __future__ import annotations

import gc
import logging
import secrets
import signal
import time
from dataclasses import dataclass
from functools import partial
from threading import Event
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.__version__ import version
from dbt.adapters.spark_mt.client import discovery
from dbt.adapters.spark_mt.execution.jobs import LocalProcesses
from dbt.adapters.spark_mt.manager import logging as logs
from dbt.adapters.spark_mt.manager.app import Identity, assemble
from dbt.adapters.spark_mt.manager.http.app import create_app
from dbt.adapters.spark_mt.manager.http.auth import Access, AccessRules
from dbt.adapters.spark_mt.manager.http.server import HttpServer
from dbt.adapters.spark_mt.manager.reconciler import ManagerPolicy
from dbt.adapters.spark_mt.spark.connect_server import (
    ConnectServer,
    Listening,
    is_loopback,
    serving_confs,
    start_serving,
)
from dbt.adapters.spark_mt.spark.derby import LOCK_FILE, lock_holder
from dbt.adapters.spark_mt.spark.session import classic_spark, embedded_metastore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import FrameType

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.manager.app import RunningManager
    from dbt.adapters.spark_mt.manager.options import ServeOptions


_LOGGER = logging.getLogger(__name__)
_HTTP_STOPS_WITHIN_S = 5.0
_JVM_ENDS_WITHIN_S = 60.0
_TOKEN_BYTES = 32
_COLLECT_EVERY_S = 60.0


@dataclass(frozen=True, slots=True)
class Serving:
    """A manager that serves.

    Args:
        url: Of page and REST.
        token: What changes there ask for.
        connect_url: Of Spark Connect; empty without it.
    """

    url: str
    token: str
    connect_url: str = ""


def serve(
    options: ServeOptions,
    until: Callable[[], None] | None = None,
    ready: Callable[[Serving], None] = lambda _: None,
) -> int:
    """Run a manager until SIGTERM or SIGINT, then stop it in good order.

    Args:
        options: How.
        until: Waits for the end; by default for a signal.
        ready: Is called when everything answers.

    Returns:
        0, or 1 where running refreshes did not end within the time and were left; each of them
        commits as a whole or not at all.

    Raises:
        MaterializedTableError: It cannot start; the reason and what to do.
    """
    token = options.token or (secrets.token_urlsafe(_TOKEN_BYTES) if _is_local(options) else "")
    rules = AccessRules(
        host=options.host,
        token=token or None,
        names=tuple(options.names),
        open_reads=_is_local(options),
    )
    access = Access(rules)
    logs.configure(logs.LogFormat(options.log_format), options.log_level.upper(), secrets=(token,))
    wait = until or _signalled()
    server = _Server(options, token)
    try:
        ready(server.start(access))
        wait()
    finally:
        ended = server.stop()
    return 0 if ended else 1


class _Server:
    """What is opened in order, and closed in the other."""

    def __init__(self, options: ServeOptions, token: str) -> None:
        self._options = options
        self._token = token
        self._owner = LocalProcesses().owner()
        self._file = _discovery_file(options)
        self._http: HttpServer | None = None
        self._running: RunningManager | None = None
        self._spark: SparkSession | None = None

    def start(self, access: Access) -> Serving:
        """Open Spark, keep tables fresh, answer, and let others find it."""
        options = self._options
        spark, connect = self._open_spark()
        self._spark = spark
        connect_url = connect.url if connect else ""
        identity = Identity(options.catalog, version, self._url, connect_url)
        self._running = assemble(spark, _policy(options), identity)
        app = create_app(self._running.manager, access)
        self._http = HttpServer(app, options.host, options.port)
        self._http.start()
        self._running.start()
        serving = Serving(self._url(), self._token, connect_url)
        self._publish_address(serving, connect)
        _LOGGER.info("the manager serves %s", serving.url)
        return serving

    def stop(self) -> bool:
        """Close everything; what cannot be closed in time is left."""
        ended = True
        if self._file is not None:
            discovery.remove(self._file, self._owner)
        if self._running is not None:
            ended = self._running.stop(self._options.stop_within_seconds)
        if self._http is not None:
            self._http.stop(_HTTP_STOPS_WITHIN_S)
        if self._spark is not None:
            self._spark.stop()
        _LOGGER.info("the manager has stopped")
        return ended

    def _url(self) -> str:
        return self._http.url if self._http is not None else ""

    def _open_spark(self) -> tuple[SparkSession, ConnectServer | None]:
        options = self._options
        self._await_end_of_a_killed_one()
        self._say_that_it_starts()
        log = options.log_folder / "spark-manager.log"  # what the JVM prints
        if not options.connect:
            confs = serving_confs(options.confs, Listening())
            return classic_spark(confs, options.home, log), None
        listening = Listening(options.host, options.connect_port, self._token)
        server = start_serving(options.confs, options.home, log, listening)
        return server.spark, server

    def _say_that_it_starts(self) -> None:
        """Let a `dbt run` that begins meanwhile wait, instead of finding the metastore locked.

        The file of a manager that lives stays: this one will not get the metastore then.
        """
        if self._file is None or not self._options.connect:
            return
        if not isinstance(discovery.read(self._file), discovery.Discovered):
            discovery.write(self._file, discovery.Discovered(self._owner))

    def _await_end_of_a_killed_one(self) -> None:
        """Wait for the JVM of a manager that was killed: it ends seconds after its process.

        It holds the embedded metastore until then, so that the next start does not fail.
        """
        metastore = embedded_metastore(self._options.confs, self._options.home)
        if self._file is None or metastore is None or not self._file.exists():
            return
        if isinstance(discovery.read(self._file), discovery.Discovered):
            return
        end = time.monotonic() + _JVM_ENDS_WITHIN_S
        while lock_holder(metastore / LOCK_FILE) is not None and time.monotonic() < end:
            time.sleep(0.2)

    def _publish_address(self, serving: Serving, connect: ConnectServer | None) -> None:
        """Write the file by which dbt and `spark-mt` on this machine find it."""
        if self._file is None:
            return
        discovery.write(
            self._file,
            discovery.Discovered(
                self._owner,
                serving.connect_url,
                connect.token if connect else "",
                serving.url,
                serving.token,
            ),
        )


def _policy(options: ServeOptions) -> ManagerPolicy:
    return ManagerPolicy(
        tick=round(options.tick_seconds * 1000),
        takeover=round(options.takeover_after_seconds * 1000),
        give_up_after=options.give_up_after,
    )


def _is_local(options: ServeOptions) -> bool:
    return is_loopback(options.host)


def _discovery_file(options: ServeOptions) -> Path | None:
    metastore = embedded_metastore(options.confs, options.home)
    return None if metastore is None else discovery.place(metastore)


def _signalled() -> Callable[[], None]:
    """Return what waits for the first signal; a second one ends the process as usual."""
    signalled = Event()

    def stop(number: int, _frame: FrameType | None) -> None:
        _LOGGER.info("stopping after %s", signal.Signals(number).name)
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, signal.SIG_DFL)
        signalled.set()

    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, stop)

    return partial(wait_collecting, signalled)


def wait_collecting(signalled: Event, every_s: float = _COLLECT_EVERY_S) -> None:
    """Wait for an event; collect Python's garbage every `every_s` seconds meanwhile.

    Python counts its own objects to decide when to collect. A wrapper of some bytes keeps a
    session or a query of the JVM alive, and a manager makes so few of them that there are
    hours between full collections. What a process has once it serves stays, so later collections
    leave it out.
    """
    gc.collect()
    gc.freeze()
    due = time.monotonic() + every_s
    while not signalled.wait(min(1.0, every_s)):
        if time.monotonic() >= due:
            gc.collect()
            due = time.monotonic() + every_s
