"""A Spark Connect server of its own process, which runs on after the clients that a test kills.

`python -m tests.faults.server <directory> <port> <confs as JSON>` serves until its standard input
ends, so that it never runs longer than the test run that started it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.spark.launch.class_archive import archived_classes
from dbt.adapters.spark_mt.spark.launch.session import quiet_python_loggers
from tests.support import jvm_options
from tests.support.delta_package import delta_confs
from tests.support.free_ports import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
_READY = "serving"
CONFS = {
    **delta_confs(),
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.default.parallelism": "2",
    jvm_options.OPTIONS: jvm_options.COMMON,
    "spark.driver.memory": "2g",
    "spark.log.level": "OFF",
    "spark.sql.adaptive.enabled": "false",
    # tables have few rows: compiling classes for each query is half of the time
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
    "spark.sql.ui.retainedExecutions": "10",
    "spark.ui.enabled": "false",
    "spark.ui.retainedJobs": "10",
    "spark.ui.retainedStages": "10",
    "spark.ui.showConsoleProgress": "false",
}
"""Delta on two cores, without what a test never looks at."""
_SERVING = {
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.sql.artifact.isolation.enabled": "true",
    # What a killed client leaves on the server goes soon.
    "spark.connect.session.manager.defaultSessionTimeout": "20m",
    "spark.connect.session.manager.maintenanceInterval": "20s",
    "spark.connect.execute.manager.detachedTimeout": "20s",
    "spark.connect.execute.manager.maintenanceInterval": "5s",
}


@dataclass(frozen=True)
class Server:
    """A running server.

    Args:
        url: For `SparkSession.builder.remote`.
        port: On the loopback address.
        warehouse: The directory of its tables.
        jvm: The process id of its JVM.
        opened: The sessions of this process.
    """

    url: str
    port: int
    warehouse: Path
    jvm: int
    opened: list[SparkSession] = field(default_factory=list)

    def session(self) -> SparkSession:
        """Open a session of its own."""
        from pyspark.sql import SparkSession

        quiet_python_loggers()
        session: SparkSession = SparkSession.builder.remote(self.url).create()
        self.opened.append(session)
        return session

    def close(self) -> None:
        """Close the sessions: PySpark tries to, for ten minutes each, when the process exits."""
        for session in self.opened:
            session.client.close()


def environment() -> dict[str, str]:
    """The environment of a process of its own.

    PySpark notes in that of a process that it works over Connect, and whoever inherits this can
    start no Spark.
    """
    connect = ("SPARK_CONNECT_MODE_ENABLED", "SPARK_REMOTE", "SPARK_LOCAL_REMOTE")
    return {key: value for key, value in os.environ.items() if key not in connect}


@contextmanager
def serving(directory: Path, confs: Mapping[str, str] | None = None) -> Iterator[Server]:
    """Start a server, and end it afterwards.

    Args:
        directory: Where its log is, and its tables unless the confs say otherwise.
        confs: More confs; without any, it has a catalog in memory.
    """
    port = free_port()
    arguments = [str(directory), str(port), json.dumps(dict(confs or {}))]
    command = [sys.executable, "-m", "tests.faults.server", *arguments]
    with (directory / "server.log").open("wb") as log:
        process = subprocess.Popen(  # noqa: S603 - our own command
            command,
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
        )
    try:
        assert process.stdout is not None
        words = process.stdout.readline().decode().split()
        assert words[:1] == [_READY], (directory / "server.log").read_text()[-2000:]
        server = Server(f"sc://127.0.0.1:{port}", port, directory / "warehouse", int(words[1]))
        yield server
        server.close()
    finally:
        process.communicate()  # closes its standard input and waits


def _serve(directory: Path, port: str, confs: Mapping[str, str]) -> None:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.appName("dbt-spark-mt faults")
    own = {
        "spark.master": "local[2]",
        "spark.connect.grpc.binding.port": port,
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
    }
    every = {**CONFS, **_SERVING, **own, **confs}
    for key, value in every.items():
        builder = builder.config(key, value)
    with archived_classes(every):
        session = builder.getOrCreate()
    session.sql("SHOW DATABASES").collect()
    gateway = SparkContext._gateway
    assert gateway is not None
    print(_READY, gateway.proc.pid, flush=True)  # noqa: T201 - read by `serving`
    sys.stdin.read()
    session.stop()


if __name__ == "__main__":
    _serve(Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3]))
