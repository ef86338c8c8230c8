"""Process of the refresh manager (`spark-mt serve`) and its options."""

from __future__ import annotations

import gc
import logging
import secrets
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from threading import Event, Thread
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from dbt.adapters.spark_mt.__version__ import version
from dbt.adapters.spark_mt.client import discovery
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import UnusableHookError
from dbt.adapters.spark_mt.execution.context import LocalProcesses
from dbt.adapters.spark_mt.manager import logging as logs
from dbt.adapters.spark_mt.manager.http.auth import Access, AccessRules
from dbt.adapters.spark_mt.manager.http.connections import bind
from dbt.adapters.spark_mt.manager.reconciler import ManagerPolicy
from dbt.adapters.spark_mt.spark.launch import connect_server, listeners
from dbt.adapters.spark_mt.spark.launch.derby import LOCK_FILE, lock_holder
from dbt.adapters.spark_mt.spark.launch.jvm_launch import usable_folder
from dbt.adapters.spark_mt.spark.launch.session import classic_spark, embedded_metastore
from dbt.adapters.spark_mt.spark.parser import hook

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping
    from concurrent.futures import Future
    from pathlib import Path
    from types import FrameType

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.manager.app import RunningManager
    from dbt.adapters.spark_mt.manager.http.app import HttpServer

_LOGGER = logging.getLogger(__name__)
_CLOSE_S = 6.0
"""The part of the time to stop that is left for the HTTP server and Spark, or a quarter of it."""
_LEAST_CLOSE_S = 1.0
_JVM_ENDS_WITHIN_S = 60.0
_TOKEN_BYTES = 32
_COLLECT_EVERY_S = 60.0


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """How to serve.

    Args:
        home: The folder of warehouse and metastore, unless the confs say otherwise.
        confs: Of the Spark that the manager starts.
        catalog: Whose tables to keep fresh; None for Spark's current one.
        host: The address of REST and page.
        port: Their port; 0 for a free one.
        names: Further names under which the HTTP server answers, as behind a proxy.
        token: What REST and page ask for; empty to make one up, which only loopback allows.
        connect: Whether to serve Spark Connect, on the same address.
        connect_port: Its port; 0 for a free one.
        plain_sql: Whether clients of Spark Connect can send statements about materialized tables as
            SQL.
        log_format: `json` or `console`.
        log_level: As the levels of `logging`, in lower case.
        log_folder: Where what the JVM prints is written.
        tick_seconds: The time between two looks at everything.
        takeover_after_seconds: For how long another manager must be silent before this one
            takes over.
        suspend_after: After how many failures of the same cause in a row a table is suspended; 0
            for never.
        stop_within_seconds: Within how long the manager stops. Running refreshes have about two
            thirds of it to end, or all but ten seconds.
    """

    home: Path
    log_folder: Path
    confs: Mapping[str, str] = field(default_factory=dict)
    catalog: str | None = None
    host: str = "127.0.0.1"
    port: int = 8765
    names: tuple[str, ...] = ()
    token: str = field(default="", repr=False)
    connect: bool = True
    connect_port: int = 0
    plain_sql: bool = True
    log_format: str = "console"
    log_level: str = "info"
    tick_seconds: float = 5.0
    takeover_after_seconds: float = 60.0
    suspend_after: int = 20
    stop_within_seconds: float = 30.0


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
    is_local = listeners.is_loopback(options.host)
    token = options.token or (secrets.token_urlsafe(_TOKEN_BYTES) if is_local else "")
    rules = AccessRules(
        host=options.host,
        token=token or None,
        names=tuple(options.names),
        open_reads=is_local,
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
        self._metastore = embedded_metastore(options.confs, options.home)
        self._file = None if self._metastore is None else discovery.place(self._metastore)
        self._socket: socket.socket | None = None
        self._http: HttpServer | None = None
        self._running: RunningManager | None = None
        self._spark: SparkSession | None = None
        self._hook: hook.Hook | None = None

    def start(self, access: Access) -> Serving:
        """Open Spark, keep tables fresh, answer, and let others find it."""
        options = self._options
        for folder in {options.home, options.log_folder, *self._folders()}:
            usable_folder(folder)
        # Before Spark: its start takes half a minute, and what is wrong here is known now.
        self._socket = bind(options.host, options.port)
        if options.connect and options.connect_port:
            bind(options.host, options.connect_port).close()
        self._await_end_of_a_killed_one()
        self._say_that_it_starts()
        policy = ManagerPolicy(
            tick=round(options.tick_seconds * 1000),
            takeover=round(options.takeover_after_seconds * 1000),
            suspend_after=options.suspend_after,
        )
        with ThreadPoolExecutor(1, "spark-start") as starter:
            starting = starter.submit(self._start_spark)
            # Most of this package is loaded while the JVM starts.
            from dbt.adapters.spark_mt.manager.app import Identity, assemble  # noqa: PLC0415
            from dbt.adapters.spark_mt.manager.http.app import HttpServer, create_app  # noqa: PLC0415

            spark, connect = starting.result()
            opening = starter.submit(connect_server.open_metastore, spark)
            compiling = starter.submit(self._compiled, spark)
            connect_url = connect.url if connect else ""
            identity = Identity(options.catalog, version, self._url, connect_url)
            self._running = assemble(spark, policy, identity)
            opening.result()
            self._install(spark, compiling)
        app = create_app(self._running.manager, access)
        self._http = HttpServer(app, options.host, options.port, self._socket)
        self._http.start()
        self._running.start()
        serving = Serving(self._url(), self._token, connect_url)
        self._let_others_find(serving, connect.token if connect else "")
        _LOGGER.info("the manager serves %s", serving.url)
        self._log_listeners(spark)
        return serving

    def _let_others_find(self, serving: Serving, connect_token: str) -> None:
        if self._file is None:
            return
        found = discovery.Discovered(
            self._owner, serving.connect_url, connect_token, serving.url, serving.token, version
        )
        self._write(found)

    def _compiled(self, spark: SparkSession) -> object:
        is_wanted = self._options.connect and self._options.plain_sql
        return hook.compiled(spark) if is_wanted else None

    def _install(self, spark: SparkSession, compiling: Future[object]) -> None:
        """Teach Spark's parser the statements; where that fails, everything else works."""
        try:
            compiled = compiling.result()
            if compiled is not None and self._running is not None:
                manager = self._running.manager
                self._hook = hook.install(spark, manager, compiled, is_of_connect=True)
        except UnusableHookError as error:
            _LOGGER.warning("%s", error)

    def _log_listeners(self, spark: SparkSession) -> None:
        """Log what listens where, and what others reach unasked."""
        port = urlsplit(self._url()).port or 0
        own = listeners.Listener(
            "the page and REST", self._options.host, port, "a token for changes"
        )
        found = (own, *listeners.listeners(spark))
        for each in found:
            _LOGGER.info("listening: %s", each)
        if sentence := listeners.exposure(found):
            _LOGGER.warning("%s", sentence)

    def _start_spark(self) -> tuple[SparkSession, connect_server.ConnectServer | None]:
        options = self._options
        log = options.log_folder / "spark-manager.log"  # what the JVM prints
        connect = None
        if options.connect:
            listening = connect_server.Listening(options.host, options.connect_port, self._token)
            connect = connect_server.start_serving(options.confs, options.home, log, listening)
            self._spark = connect.spark
        else:
            confs = connect_server.serving_confs(options.confs, connect_server.Listening())
            self._spark = classic_spark(confs, options.home, log)
        return self._spark, connect

    def stop(self) -> bool:
        """Close everything; what cannot be closed in time is left."""
        ended, within = True, self._options.stop_within_seconds
        end, close_s = time.monotonic() + within, min(_CLOSE_S, within / 4)
        if self._file is not None:
            discovery.remove(self._file, self._owner)
        if self._hook is not None:
            self._hook.close()
        if self._running is not None:
            ended = self._running.stop(within - close_s)
        if self._http is not None:
            self._http.stop(max(_LEAST_CLOSE_S, close_s / 2))
        elif self._socket is not None:
            self._socket.close()
        if self._spark is not None:
            # The JVM ends with this process in any case.
            closing = Thread(target=self._spark.stop, name="spark-stop", daemon=True)
            closing.start()
            closing.join(max(_LEAST_CLOSE_S, end - time.monotonic()))
        _LOGGER.info("the manager has stopped")
        return ended

    def _url(self) -> str:
        return self._http.url if self._http is not None else ""

    def _say_that_it_starts(self) -> None:
        """Let a `dbt run` that begins meanwhile wait, instead of finding the metastore locked.

        The file of a manager that lives stays: this one will not get the metastore then.
        """
        if self._file is None or not self._options.connect:
            return
        if not isinstance(discovery.read(self._file), discovery.Discovered):
            self._write(discovery.Discovered(self._owner))

    def _folders(self) -> list[Path]:
        return [] if self._file is None else [self._file.parent]

    def _write(self, found: discovery.Discovered) -> None:
        """Write the file by which others find the manager.

        Raises:
            MaterializedTableError: It cannot be written.
        """
        assert self._file is not None  # noqa: S101 - the callers look first
        try:
            discovery.write(self._file, found)
        except OSError as error:
            problem = f"{error.strerror}: {self._file.name}"
            raise conditions.UNUSABLE_FOLDER(
                folder=str(self._file.parent), problem=problem
            ) from error

    def _await_end_of_a_killed_one(self) -> None:
        """Wait for the JVM of a manager that was killed: it ends seconds after its process.

        It holds the embedded metastore until then, so that the next start does not fail.
        """
        if self._file is None or self._metastore is None or not self._file.exists():
            return
        if isinstance(discovery.read(self._file), discovery.Discovered):
            return
        end = time.monotonic() + _JVM_ENDS_WITHIN_S
        while lock_holder(self._metastore / LOCK_FILE) is not None and time.monotonic() < end:
            time.sleep(0.2)


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
