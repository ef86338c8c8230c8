"""Refresh manager of the demo's tables: a process of its own, as a user starts it.

`python managed.py` in a copy of the project that the demo left keeps its tables fresh, and lets a
flight's file land every second, until Ctrl-C; `make serve` does that.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

import feed

from dbt.adapters.spark_mt.client import discovery
from dbt.adapters.spark_mt.client.discovery import Discovered
from dbt.adapters.spark_mt.client.rest import ManagerClient

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

COMMAND = (sys.executable, "-m", "dbt.adapters.spark_mt.cli.main")
PATIENCE_S = 240
_STARTED = "spark-mt serve"


def until(what: str, holds: Callable[[], Any], pause_s: float = 0.5) -> None:
    """Look every `pause_s` seconds until something holds.

    Raises:
        TimeoutError: It does not within four minutes.
    """
    end = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(pause_s)


@dataclass
class Served:
    """A manager that was started by `spark-mt serve`."""

    project: Path
    process: subprocess.Popen[bytes]

    @classmethod
    def start(cls, project: Path, port: int = 0) -> Served:
        """Start it, and wait until it keeps the tables fresh."""
        log = (project / "logs" / "manager.log").open("ab")
        process = subprocess.Popen(  # noqa: S603 - our own command
            [*COMMAND, "serve", "--port", str(port)],
            cwd=project,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        served = cls(project, process)
        until(f"{_STARTED} is ready; see {log.name}", served.is_ready)
        return served

    @property
    def client(self) -> ManagerClient | None:
        """Its REST interface, where it answers."""
        found = discovery.read(self.project / discovery.FILE)
        if not isinstance(found, Discovered) or not found.rest_url:
            return None
        return ManagerClient(found.rest_url, found.rest_token)

    @property
    def url(self) -> str:
        """Its status page."""
        client = self.client
        return client.url if client else ""

    def is_ready(self) -> bool:
        """Whether it has looked at everything once.

        Raises:
            RuntimeError: It has ended.
        """
        if self.process.poll() is not None:
            problem = f"{_STARTED} ended with {self.process.returncode}; see logs/manager.log"
            raise RuntimeError(problem)
        client = self.client
        return client is not None and client.about()["role"] == "ACTIVE"

    def page(self) -> str:
        """The status page as a browser gets it."""
        with urlopen(self.url, timeout=30) as answer:  # noqa: S310 - our own address
            return str(answer.read().decode())

    def tables(self) -> dict[str, dict[str, Any]]:
        """What it shows of each table, by its name without the catalog."""
        client = self.client
        rows = client.tables() if client else []
        return {row["name"].partition(".")[2]: row for row in rows}

    def kill(self) -> None:
        """End it as a power failure does."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        """End it in good order."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait(PATIENCE_S)


def run(project: Path, *arguments: str) -> str:
    """Run `spark-mt` in the project and return what it prints."""
    done = subprocess.run(  # noqa: S603 - our own command
        [*COMMAND, *arguments],
        cwd=project,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    return done.stdout


def number(project: Path, query: str) -> int:
    """The number that a query returns, run where the manager runs."""
    (row,) = json.loads(run(project, "sql", query, "--json"))
    return int(next(iter(row.values())))


def close_jvm(spark: SparkSession) -> None:
    """End the Spark of this process with its JVM, which holds the metastore."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway  # noqa: SLF001 - PySpark has no public way to do that
    spark.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(60)
    SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001


def main() -> int:
    """Keep the demo's tables fresh until Ctrl-C."""
    project = Path.cwd()
    served = Served.start(project, port=8765)
    arriving = feed.Feed(project / feed.FOLDER)
    print(f"Flights arrive, and tables follow them: {served.url}  (Ctrl-C ends)")  # noqa: T201
    arriving.start()
    try:
        served.process.wait()
    except KeyboardInterrupt:
        arriving.stop()
        served.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
