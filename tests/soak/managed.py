"""`spark-mt serve` over ten tables of every kind, as a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.client import discovery
from dbt.adapters.spark_mt.client.discovery import Discovered
from dbt.adapters.spark_mt.client.rest import ManagerClient
from dbt.adapters.spark_mt.spark.launch.session import connect_spark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import SparkSession

SCHEMA = "soak"
_PATIENCE_S = 600
_READY = "Keeping tables fresh"
SERVE = os.environ.get("SOAK_SERVE", "-m dbt.adapters.spark_mt.cli.main").split()
_CHECKPOINTS = "TBLPROPERTIES ('delta.checkpointInterval' = '10')"
"""As Spark does by default; other writers checkpoint after 100 commits."""
_SOURCES = (
    "orders (id BIGINT, k INT, v INT)",
    "readings (id BIGINT, k INT, ts TIMESTAMP)",
    "products (k INT, price INT)",
    "customers (k INT, name STRING)",
)
TABLES = {
    "stream_orders": "FRESHNESS = INTERVAL '30' SECOND AS SELECT id, k, v * 2 AS v FROM orders",
    "stream_clicks": "FRESHNESS = INTERVAL '1' MINUTE AS SELECT id, k FROM clicks WHERE v > 50",
    "stream_readings": "FRESHNESS = INTERVAL '2' MINUTE AS SELECT id, ts FROM readings",
    "windows": "WITH ('watermark' = 'ts DELAY OF INTERVAL 10 SECONDS') "
    "FRESHNESS = INTERVAL '30' SECOND "
    "AS SELECT window(ts, '1 minute').start AS minute, k, count(*) AS n FROM readings "
    "GROUP BY window(ts, '1 minute'), k",
    "revenue": "FRESHNESS = INTERVAL '30' SECOND "
    "AS SELECT o.k, sum(o.v * p.price) AS revenue FROM orders o JOIN products p ON o.k = p.k "
    "GROUP BY o.k",
    "top_revenue": "FRESHNESS = INTERVAL '1' MINUTE "
    "AS SELECT * FROM revenue ORDER BY revenue DESC LIMIT 3",
    "prices": "FRESHNESS = INTERVAL '1' MINUTE "
    "AS SELECT max(price) AS highest, avg(price) AS mean FROM products",
    "names": "FRESHNESS = INTERVAL '2' MINUTE "
    "AS SELECT k, count(*) AS n, max(name) AS newest FROM customers GROUP BY k",
    "full_clicks": "FRESHNESS = INTERVAL '1' MINUTE REFRESH_MODE = FULL "
    "AS SELECT k, count(*) AS n FROM clicks GROUP BY k",
    "full_orders": "FRESHNESS = INTERVAL '2' MINUTE REFRESH_MODE = FULL "
    "AS SELECT count(*) AS n, sum(v) AS v FROM orders",
}


def until(holds: Callable[[], object], what: str) -> None:
    """Wait for something that another process does."""
    end = time.monotonic() + _PATIENCE_S
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.5)


def _port(url: str) -> int:
    return urlsplit(url).port or 0


@dataclass
class Managed:
    """A manager in a folder.

    Args:
        folder: Holds warehouse, metastore and logs.
        process: The manager's Python process.
        place: Its addresses, where no file of an embedded metastore has them.
    """

    folder: Path
    process: subprocess.Popen[bytes]
    place: Discovered | None = None

    @classmethod
    def start(
        cls, folder: Path, confs: Sequence[str] = (), place: Discovered | None = None
    ) -> Managed:
        """Start `spark-mt serve`, and wait until it answers."""
        command, environment = [sys.executable, *SERVE, "serve"], dict(os.environ)
        command += ["--port", str(_port(place.rest_url) if place else 0)]
        if place is not None:
            command += ["--connect-port", str(_port(place.connect_url))]
            environment["SPARK_MT_TOKEN"] = place.rest_token
        for conf in confs:
            command += ["--conf", conf]
        with (folder / "manager.log").open("ab") as log:
            process = subprocess.Popen(  # noqa: S603 - our own command
                command,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        managed = cls(folder, process, place)
        until(lambda: managed.found is not None, f"the manager answers; see {log.name}")
        return managed

    @property
    def found(self) -> Discovered | None:
        """Where it answers."""
        assert self.process.poll() is None, "the manager ended"
        if self.place is not None:
            return self.place if _READY in (self.folder / "manager.log").read_text() else None
        found = discovery.read(self.folder / discovery.FILE)
        return found if isinstance(found, Discovered) and found.rest_url else None

    @property
    def client(self) -> ManagerClient:
        """Its REST interface."""
        found = self.found
        assert found is not None
        return ManagerClient(found.rest_url, found.rest_token, timeout_s=_PATIENCE_S)

    @property
    def jvm(self) -> int:
        """The process id of its Spark."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return next(
            pid
            for pid in map(int, children.read_text(encoding="ascii").split())
            if Path(f"/proc/{pid}/comm").read_text(encoding="ascii").strip() == "java"
        )

    @contextmanager
    def connected(self) -> Iterator[SparkSession]:
        """Open a session in its Spark, as `dbt run` does."""
        found = self.found
        assert found is not None
        spark = connect_spark(f"{found.connect_url}/;token={found.connect_token}", {})
        try:
            yield spark
        finally:
            spark.stop()

    def visit(self) -> None:
        """Look at the tables, as people and Prometheus do."""
        with self.connected() as spark:
            spark.sql(f"USE {SCHEMA}").collect()
            shown = MaterializedTables(spark).execute("SHOW MATERIALIZED TABLES")
            assert shown is not None
            assert len(shown.rows) == len(TABLES), shown.rows
        until(lambda: len(self.client.tables()) == len(TABLES), "the manager sees every table")

    def create(self) -> None:
        """Create the sources over Spark Connect, and the tables over REST."""
        with self.connected() as spark:
            spark.sql(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}").collect()
            for source in _SOURCES:
                spark.sql(f"CREATE TABLE {SCHEMA}.{source} USING delta {_CHECKPOINTS}").collect()
            (self.folder / "landed").mkdir()
            landed = (self.folder / "landed").as_uri()
            spark.sql(
                f"CREATE TABLE {SCHEMA}.clicks (id BIGINT, k INT, v INT) USING json "
                f"LOCATION '{landed}'"
            ).collect()
            spark.sql(f"INSERT INTO {SCHEMA}.products SELECT id, 1 FROM range(10)").collect()
        for name, rest in TABLES.items():
            statement = f"CREATE MATERIALIZED TABLE {name} {rest}"
            self.client.execute(statement, "spark_catalog", SCHEMA, {})

    def write(self, busy: float, rest: float, cycles: int) -> subprocess.Popen[bytes]:
        """Start the process that changes the sources.

        Args:
            busy: Seconds for which they change, in each cycle.
            rest: Seconds for which they rest after it.
            cycles: How often both are repeated.
        """
        place = self.folder / "spark-warehouse" / f"{SCHEMA}.db"
        places = [str(place), str(self.folder / "landed")]
        command = [sys.executable, "-m", "tests.soak.writer", *places]
        command += [str(busy), str(rest), str(cycles)]
        return subprocess.Popen(command)  # noqa: S603 - our own command

    def stop(self) -> None:
        """End it in good order."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(90)
        except subprocess.TimeoutExpired:
            os.kill(self.process.pid, signal.SIGKILL)
            self.process.wait()
