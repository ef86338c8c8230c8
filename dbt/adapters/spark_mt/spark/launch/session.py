"""Spark sessions: opened or connected to, with confs and progress."""

from __future__ import annotations

import gc
import importlib.util
import logging
import os
import re
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.spark.delta.releases import check_loaded, pyspark_version, with_delta
from dbt.adapters.spark_mt.spark.formats.delta import (
    WAREHOUSE,
    check_log_store,
)
from dbt.adapters.spark_mt.spark.formats.installed import FORMATS
from dbt.adapters.spark_mt.spark.iceberg import releases as iceberg_releases
from dbt.adapters.spark_mt.spark.launch import listeners
from dbt.adapters.spark_mt.spark.launch.derby import check_metastore_is_free
from dbt.adapters.spark_mt.spark.launch.jvm_launch import launch, read_properties, submitted
from dbt.adapters.spark_mt.spark.session.private_session import is_connect, keep_shared_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from subprocess import Popen

    from pyspark.sql import SparkSession


_IMPLEMENTATION_KEY = "spark.sql.catalogImplementation"
_DERBY_KEY = "spark.hadoop.javax.jdo.option.ConnectionURL"
_DERBY_DIRECTORY = re.compile(
    r"jdbc:derby:(?!//)(?:;(?:.*;)?databaseName=)?(?P<directory>(?:[A-Za-z]:)?[^;:=]+)(?:;|$)"
)
"""Where a Derby URL names a directory, rather than a server or memory."""
_URIS = "spark.hadoop.hive.metastore.uris"
_OTHER_METASTORE = (
    _URIS,
    "spark.hive.metastore.uris",
    "hive.metastore.uris",
    "spark.hadoop.hive.metastore.client.factory.class",
)
_OF_CLASSES = ("spark.jars", "spark.driver.memory", "spark.driver.extra")
_QUIET = {"spark.ui.showConsoleProgress": "false", "spark.log.level": "WARN"}
_WHOLE_PLANS = {"spark.sql.debug.maxToStringFields": "1000"}
"""Plans show all columns: which functions of time a query calls is found in the plan."""

_KEPT_CODE = {"spark.sql.codegen.cache.maxEntries": "5000"}
"""One refresh can use 250 generated classes, and Spark keeps 100 by default. It would generate them
again at each refresh, and the JVM would compile them again."""
_SMALL_PAGES = {"spark.buffer.pageSize": "4m"}
"""Each sort, aggregate and hash table of a task begins with such a page. In one JVM with few tasks
Spark takes up to 64 MB, whatever the number of rows, and a fifth of the time of a refresh by
changes of many tables was the collection of such pages."""


_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger", "py4j", "pyspark.sql.connect")
_CONNECT_MODULES = {
    "grpc": "grpcio",
    "grpc_status": "grpcio-status",
    "google.rpc": "googleapis-common-protos",
    "zstandard": "zstandard",
}
_NEAR = frozenset({"localhost", "127.0.0.1", "[::1]"})
_NEAR_PATIENCE_S = 15.0
_NEAR_BACKOFF_MS = 3000
_PROGRAMS = frozenset({"dbt", "spark-mt"})
_starting = Lock()
_checked: set[str] = set()
"""The servers whose releases were checked: each session would ask again."""


@dataclass(frozen=True, slots=True)
class SessionConfs:
    """What a new Spark starts with.

    Args:
        confs: All confs to pass.
        derby: The directory of the Derby metastore that will be opened, if one will be.
        variables: What to add to the environment of its JVM.
    """

    confs: Mapping[str, str]
    derby: Path | None
    variables: Mapping[str, str]


def session_confs(requested: Mapping[str, str], home: Path) -> SessionConfs:
    """Complete the user's confs with what a session for materialized tables needs.

    Whatever is in `spark-defaults.conf` or PYSPARK_SUBMIT_ARGS counts as the user's, too.

    Raises:
        MaterializedTableError: No table format is tested with the installed PySpark.
        MaterializedTableError: The one that the user names is not tested with it.
        MaterializedTableError: The warehouse can be written by one driver only, and the user has
            not confirmed that it is.
    """
    known = _known(requested)
    added = {
        "spark.app.name": "dbt-spark-mt",
        _IMPLEMENTATION_KEY: "hive",
        WAREHOUSE: str(home / "spark-warehouse"),
        **_QUIET,
        **_WHOLE_PLANS,
        **_KEPT_CODE,
    }
    if known.get("spark.master", "local").startswith("local"):
        added |= {"spark.master": "local[*]", **_SMALL_PAGES, **FORMATS.confs.local}
    added |= listeners.network_confs(known, os.environ)
    derby = _derby(known, home)
    if derby is not None and _DERBY_KEY not in known:
        added[_DERBY_KEY] = f"jdbc:derby:;databaseName={derby};create=true"
    check_log_store(known.get(WAREHOUSE, ""), known.get)
    needed = {key: value for key, value in added.items() if key not in known}
    iceberg_releases.check_confs(pyspark_version(), known)
    merged = {**with_delta(known), **iceberg_releases.with_uncached_catalogs(known)}
    variables = listeners.network_variables(known, os.environ)
    return SessionConfs({**needed, **requested, **merged}, derby, variables)


def separate_confs(requested: Mapping[str, str], home: Path) -> dict[str, str]:
    """Return confs for a Spark that reaches none of the user's tables.

    Of the user's confs it has those about jars and the driver's memory. Its warehouse and metastore
    are below `home`. Where the user has a metastore service, it has a catalog in memory.
    """
    own = {k: v for k, v in requested.items() if k.startswith(_OF_CLASSES)}
    separate = {
        **own,
        "spark.master": "local[2]",
        "spark.hadoop.fs.defaultFS": "file:///",
        "spark.sql.defaultCatalog": "spark_catalog",
        "spark.eventLog.enabled": "false",
        WAREHOUSE: (home / "spark-warehouse").as_uri(),
    }
    if any(key in requested for key in _OTHER_METASTORE) or _derby(_known(own), home) is None:
        return {**separate, _IMPLEMENTATION_KEY: "in-memory"}
    return {
        **separate,
        _URIS: "",
        _DERBY_KEY: f"jdbc:derby:;databaseName={home / 'metastore_db'};create=true",
    }


def embedded_metastore(requested: Mapping[str, str], home: Path) -> Path | None:
    """Return the directory of the Derby metastore that a new Spark would open; None without one.

    It is below `home` unless the user's confs say otherwise.
    """
    return _derby(_known(requested), home)


def _known(requested: Mapping[str, str]) -> dict[str, str]:
    said = submitted()
    defaults = _defaults_of_spark() if said.reads_defaults else {}
    return {**defaults, **said.known, **requested}


def _derby(known: Mapping[str, str], home: Path) -> Path | None:
    """Return the place of the Derby metastore, when the user has no other one."""
    if known.get(_IMPLEMENTATION_KEY) == "in-memory" or any(k in known for k in _OTHER_METASTORE):
        return None
    if _DERBY_KEY in known:
        named = _DERBY_DIRECTORY.match(known[_DERBY_KEY])
        return home / named["directory"] if named else None
    elsewhere = any((folder / "hive-site.xml").exists() for folder in _class_path_folders())
    return None if elsewhere else home / "metastore_db"


def _conf_folders() -> Iterable[Path]:
    if "SPARK_CONF_DIR" in os.environ:
        return [Path(os.environ["SPARK_CONF_DIR"])]
    return [Path(os.environ["SPARK_HOME"]) / "conf"] if "SPARK_HOME" in os.environ else []


def _class_path_folders() -> Iterable[Path]:
    """Return the folders from which Spark's JVM reads files of configuration."""
    hadoop = (os.environ.get(name) for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR"))
    return [*_conf_folders(), *map(Path, filter(None, hadoop))]


def _defaults_of_spark() -> dict[str, str]:
    """Return the confs of `spark-defaults.conf`."""
    confs: dict[str, str] = {}
    for folder in _conf_folders():
        confs |= read_properties(folder / "spark-defaults.conf")
    return confs


class Patience:
    """Time for which a server may fail to answer, over all calls and sessions of a connection.

    A caller that finds the server gone has more calls to make: what was done, who holds what. None
    of these shall wait as long again.

    Args:
        seconds: From the first failure on. Twice as long without one is a new beginning.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._first = self._last = float("-inf")

    def is_left(self, now: float) -> bool:
        """Note a failure at `now`, in seconds of a clock that only advances."""
        if now - self._last > 2 * self._seconds:
            self._first = now
        self._last = now
        return now - self._first < self._seconds


def classic_spark(
    requested: Mapping[str, str],
    home: Path,
    log: Path,
    warn: Callable[[str], object] = lambda _: None,
) -> SparkSession:
    """Return the first session of the process's Spark, which is started when there is none.

    Args:
        requested: The user's confs; they win over ours.
        home: Where warehouse and metastore are unless the user's confs say otherwise.
        log: The file that gets what Spark's JVM writes to its standard error.
        warn: Called once with what other machines reach without authentication, if anything.

    Raises:
        MaterializedTableError: Java is not installed.
        MaterializedTableError: Spark does not run in the Java that is.
        MetastoreInUseError: Another process holds the Derby metastore.
        MaterializedTableError: No table format is tested with this Spark.
        MaterializedTableError: The one that it has is not tested with it.
        MaterializedTableError: The JVM ended at once.
    """
    from pyspark.sql import SparkSession

    with _starting:
        quiet_python_loggers()
        is_new = not is_running_here()
        if is_new:
            _start(session_confs(requested, home), log)
        spark: SparkSession = SparkSession.builder.getOrCreate()
    check_loaded(spark)
    iceberg_releases.check_loaded(spark)
    if is_new and (sentence := listeners.exposure(listeners.listeners(spark))):
        warn(sentence)
    _keep_what_is_loaded()
    return spark


def is_running_here() -> bool:
    """Whether this process has a Spark of its own; does not load PySpark."""
    context = getattr(sys.modules.get("pyspark"), "SparkContext", None)
    return getattr(context, "_active_spark_context", None) is not None


def connect_spark(url: str, requested: Mapping[str, str], *, is_near: bool = False) -> SparkSession:
    """Open a session of its own on a Spark Connect server.

    Args:
        url: `sc://host:port/;token=...`.
        requested: Confs to set in the session.
        is_near: The server is on this machine: if it does not answer it is gone, and with it the
            session. So it is given up after seconds, and not after the ten minutes of PySpark.

    Raises:
        MaterializedTableError: Packages that Spark Connect needs are not installed.
        MaterializedTableError: No table format is tested with the server's Spark.
        MaterializedTableError: The one that the server has is not tested with it.
    """
    missing = [package for module, package in _CONNECT_MODULES.items() if not _is_there(module)]
    if missing:
        raise conditions.CONNECT_MISSING(packages=", ".join(missing))
    from pyspark.sql import SparkSession

    quiet_python_loggers()
    spark: SparkSession = SparkSession.builder.remote(url).create()
    keep_shared_threads(spark.client)
    if is_near:
        _be_impatient(spark)  # a manager's, which has checked its releases itself
    elif url not in _checked:
        check_loaded(spark)
        iceberg_releases.check_loaded(spark)
        _checked.add(url)
    apply_confs(spark, requested)
    _keep_what_is_loaded()
    return spark


@contextmanager
def short_statements(spark: SparkSession) -> Iterator[None]:
    """Save calls in a session whose server is on this machine, while the block runs.

    Reattachable execution costs five calls more for each statement. With it a statement survives a
    broken connection, and the server ends the statements of a client that was killed. So this is
    for statements that ask for metadata, of which a materialized table needs many, and not for
    those that compute.
    """
    client = spark.client if is_connect(spark) else None
    if client is None or client.host not in _NEAR:
        yield
        return
    client.disable_reattachable_execute()
    try:
        yield
    finally:
        client.enable_reattachable_execute()


def end_spark(spark: SparkSession) -> Popen[bytes]:
    """Stop the Spark of this process, ask its JVM to end, and return the process of the JVM.

    No Spark can be started in this process after it.
    """
    gateway: Any = spark.sparkContext._gateway  # noqa: SLF001 - PySpark ends its JVM with Python only
    spark.stop()
    process: Popen[bytes] = gateway.proc
    if process.stdin is not None:
        process.stdin.close()  # the JVM ends when its input does
    return process


def apply_confs(spark: SparkSession, requested: Mapping[str, str]) -> tuple[str, ...]:
    """Set in a running session what can still be set.

    Returns:
        The keys that are fixed since Spark started and have another value than the asked one.
    """
    known = spark.conf.getAll if requested else {}
    fixed = []
    for key, value in requested.items():
        if known.get(key) == value:  # over Connect each question is a call
            continue
        if spark.conf.isModifiable(key):
            spark.conf.set(key, value)
        elif value not in (spark.conf.get(key, None) or ""):  # Spark and we only add to a value
            fixed.append(key)
    return tuple(fixed)


def quiet_python_loggers() -> None:
    """Stop PySpark from printing every failed statement as JSON with a Java stack."""
    for name in _LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


@cache
def _keep_what_is_loaded() -> None:
    """Leave what dbt and PySpark have loaded out of collections of garbage.

    A collection at the end of such a process takes 0.4 s. Only a program of dbt or of this package
    is known to keep all of it to its end.
    """
    if Path(sys.argv[0]).stem in _PROGRAMS:
        gc.freeze()


def _start(confs: SessionConfs, log: Path) -> None:
    from pyspark import SparkConf, SparkContext

    if confs.derby is not None:
        check_metastore_is_free(confs.derby)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    gateway = launch(confs.confs, log, confs.variables)
    conf = SparkConf().setAll(list(confs.confs.items()))
    SparkContext(conf=conf, gateway=gateway)


def _be_impatient(spark: SparkSession) -> None:
    from pyspark.sql.connect.client.retries import DefaultPolicy

    patience = Patience(_NEAR_PATIENCE_S)

    class NearPolicy(DefaultPolicy):
        """Policy that retries until the server has not answered for a while."""

        def can_retry(self, e: BaseException) -> bool:
            return super().can_retry(e) and patience.is_left(time.monotonic())

    spark.client.set_retry_policies([NearPolicy(max_backoff=_NEAR_BACKOFF_MS)])


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # the package above it
        return False


@dataclass(frozen=True, slots=True)
class StageProgress:
    """The tasks of the stages that run now, of all jobs of the driver, and how many have ended."""

    ended: int
    tasks: int


def stage_progress(spark: SparkSession) -> StageProgress | None:
    """Return how far the running stages are.

    Returns:
        None where no stage runs, and over Spark Connect, where only the driver knows.
    """
    if is_connect(spark):
        return None
    tracker = spark.sparkContext.statusTracker()
    found = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    stages = [stage for stage in found if stage is not None]
    if not stages:
        return None
    ended = sum(stage.numCompletedTasks for stage in stages)
    return StageProgress(ended, sum(stage.numTasks for stage in stages))
