"""Spark Connect server in a driver of ours, for sessions of other processes."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.spark.formats.installed import FORMATS
from dbt.adapters.spark_mt.spark.launch.listeners import CONNECT_ADDRESS, LOOPBACK, is_loopback
from dbt.adapters.spark_mt.spark.launch.session import classic_spark, is_running_here

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pyspark.sql import SparkSession


TOKEN_KEY = "spark.connect.authenticate.token"  # noqa: S105 - a conf's name
_PORT_KEY = "spark.connect.grpc.binding.port"
_PLUGINS_KEY = "spark.plugins"
_PLUGIN = "org.apache.spark.sql.connect.SparkConnectPlugin"
_SERVICE = "org.apache.spark.sql.connect.service.SparkConnectService$"
_TOKEN_BYTES = 32

_FOR_CLIENTS = {
    # Without it, one client's addArtifacts breaks the jobs of all others.
    "spark.sql.artifact.isolation.enabled": "true",
    # A dbt thread may wait for hours until another one's model is done; Spark forgets its session,
    # temporary views included, after one.
    "spark.connect.session.manager.defaultSessionTimeout": "6h",
    # By default, statements of a killed client run for five more minutes.
    "spark.connect.execute.manager.detachedTimeout": "1m",
    "spark.connect.execute.manager.maintenanceInterval": "10s",
}
_FOR_LONG_RUNS = {
    # Plans and metrics are kept for Spark's own page whether it is served or not: of 1,000
    # statements and as many jobs and stages by default, which is gigabytes where plans are large.
    "spark.sql.ui.retainedExecutions": "20",
    "spark.ui.retainedJobs": "50",
    "spark.ui.retainedStages": "50",
    "spark.ui.retainedTasks": "2000",
    "spark.sql.streaming.ui.retainedQueries": "20",
    "spark.sql.streaming.ui.retainedProgressUpdates": "20",
    "spark.sql.connect.ui.retainedStatements": "20",
    "spark.sql.connect.ui.retainedSessions": "20",
    # Spark's page needs no login, listens on every address, and can kill jobs.
    "spark.ui.enabled": "false",
    **FORMATS.confs.server,
    # Each query over files leaves its listing in a cache of 250 MB, in which no later session finds
    # it: the key is an object of the relation, which only the session that resolved it has.
    "spark.sql.hive.filesourcePartitionFileCacheSize": "0",
}


@dataclass(frozen=True, slots=True)
class Listening:
    """Where Spark Connect shall be served, and for whom.

    Args:
        address: Where to listen. Spark does not support TLS, and its Python client sends a token
            to other machines over TLS only. So all but loopback needs a proxy in front.
        port: The port; 0 for a free one.
        token: What clients must show; without one, one is made up on loopback.
    """

    address: str = LOOPBACK
    port: int = 0
    token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class ConnectServer:
    """A driver that serves Spark Connect.

    Args:
        spark: The driver's first session.
        url: Where clients of this machine connect, without the token: `sc://localhost:port`.
        address: Where it listens.
        port: The port, also where a free one was asked for.
        token: What clients must show.
    """

    spark: SparkSession
    url: str
    address: str
    port: int
    token: str = field(repr=False)


def serving_confs(requested: Mapping[str, str], listening: Listening) -> dict[str, str]:
    """Complete the user's confs for a driver that serves Spark Connect and runs for weeks.

    Args:
        requested: The user's confs; they win, but for address and port. The token is left out.
        listening: Where to listen.
    """
    own = {key: value for key, value in requested.items() if key != TOKEN_KEY}
    plugins = [each for each in own.get(_PLUGINS_KEY, "").split(",") if each and each != _PLUGIN]
    return {
        **_FOR_CLIENTS,
        **_FOR_LONG_RUNS,
        **own,
        _PLUGINS_KEY: ",".join([*plugins, _PLUGIN]),
        CONNECT_ADDRESS: listening.address,
        _PORT_KEY: str(listening.port),
    }


def start_serving(
    requested: Mapping[str, str], home: Path, log: Path, listening: Listening | None = None
) -> ConnectServer:
    """Start Spark in this process, and serve Spark Connect from it.

    Args:
        requested: The user's confs.
        home: Where warehouse and metastore are unless the confs say otherwise.
        log: The file that gets what Spark's JVM writes to its standard error.
        listening: Where and for whom; on a free port of loopback by default.

    Raises:
        MaterializedTableError: It would listen beyond this machine without a token.
        MaterializedTableError: There is a Spark in this process.
        MetastoreInUseError: Another process holds the Derby metastore.
        MaterializedTableError: The JVM ended at once.
    """
    listening = listening or Listening()
    token = listening.token or requested.get(TOKEN_KEY, "")
    if not token and not is_loopback(listening.address):
        raise conditions.CONNECT_TOKEN_NEEDED(address=listening.address, loopback=LOOPBACK)
    if is_running_here():
        raise conditions.SPARK_RUNS_ALREADY()
    token = token or secrets.token_urlsafe(_TOKEN_BYTES)
    confs = {**serving_confs(requested, listening), TOKEN_KEY: token}
    spark = classic_spark(confs, home, log)
    port = _bound_port(spark)
    return ConnectServer(spark, f"sc://localhost:{port}", listening.address, port, token)


def open_metastore(spark: SparkSession) -> None:
    """Let Hive open the metastore, before any statement can be cancelled.

    One that is cancelled while Hive initialises leaves the driver in a deadlock.
    """
    spark.sql("SHOW DATABASES").collect()


def served_session(spark: SparkSession, session_id: str) -> SparkSession | None:
    """Return the session of a client as a session of this driver.

    Both are one session of the JVM: confs, current schema and temporary views are the client's.

    Args:
        spark: A session of the driver.
        session_id: The client's `session_id`.

    Returns:
        None where the server has no such session, or where this driver serves none.
    """
    from pyspark.sql import SparkSession

    if _PLUGIN not in (spark.conf.get(_PLUGINS_KEY, "") or ""):
        return None
    sessions = _service(spark).sessionManager()
    active = sessions.listActiveSessions()
    for number in range(active.size()):  # a session is known by its user, too, which servers set
        key = active.apply(number).key()
        if key.sessionId() == session_id:
            found = sessions.getIsolatedSessionIfPresent(key)
            if found.isDefined():
                return SparkSession(spark.sparkContext, found.get().session())
    return None


def _bound_port(spark: SparkSession) -> int:
    """Ask the JVM, as PySpark's own tests do: no conf has a port that was chosen."""
    return int(_service(spark).localPort())


def _service(spark: SparkSession) -> Any:  # noqa: ANN401 - an object of the JVM
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - no public way to ask
    return getattr(getattr(jvm, _SERVICE), "MODULE$")
