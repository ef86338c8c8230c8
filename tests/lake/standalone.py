"""Standalone Spark cluster of processes: a master, and workers that can be killed and replaced."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.ivy import spark_jars
from tests.support.free_ports import free_port
from tests.support.port_servers import HOST, await_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WORKERS = 2
_STARTS_WITHIN_S = 60
_PARENT_DEATH_SIGNAL = 1
_DEPLOY = "org.apache.spark.deploy"
_MASTER_LOG = "1-master.Master.log"


class Cluster:
    """A running master and its workers, of one core each.

    Args:
        folder: Where logs and the files of executors go.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()
        self._started = 0
        self._master = self._start(
            "master.Master", "--host", HOST, "--port", str(self._port), "--webui-port", "0"
        )
        await_port(self._port, self._master, folder / _MASTER_LOG, _STARTS_WITHIN_S)
        self.workers = [self._worker() for _ in range(WORKERS)]

    @property
    def url(self) -> str:
        """The conf `spark.master`."""
        return f"spark://{HOST}:{self._port}"

    def confs(self) -> dict[str, str]:
        """The confs of a driver in client mode."""
        return {
            "spark.master": self.url,
            "spark.driver.host": HOST,
            "spark.driver.bindAddress": HOST,
            "spark.executor.cores": "1",
            "spark.executor.memory": "640m",
            "spark.executor.extraJavaOptions": "-XX:+UseSerialGC",
        }

    def lose_a_worker(self, number: int) -> None:
        """End a worker and its executors as a lost machine does."""
        _end(self.workers[number])

    def replace(self, number: int) -> None:
        """Start a new worker in the place of one that was lost."""
        self.workers[number] = self._worker()

    def close(self) -> None:
        for process in (*self.workers, self._master):
            _end(process)

    def _worker(self) -> subprocess.Popen[bytes]:
        options = ("--cores", "1", "--memory", "768m", "--host", HOST, "--webui-port", "0")
        work = self._folder / f"work-{self._started}"
        return self._start("worker.Worker", *options, "--work-dir", str(work), self.url)

    def _start(self, part: str, *arguments: str) -> subprocess.Popen[bytes]:
        self._started += 1
        command = spark_jars().parent / "bin" / "spark-class"
        environment = os.environ | {
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_HOME": str(spark_jars().parent),
            "PYSPARK_PYTHON": sys.executable,
        }
        with (self._folder / f"{self._started}-{part}.log").open("wb") as log:
            return subprocess.Popen(  # noqa: S603 - our own command
                [command, f"{_DEPLOY}.{part}", *arguments],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # a group with the executors
                preexec_fn=_end_with_the_tests,  # noqa: PLW1509 - it only makes a system call
            )


@contextmanager
def running_cluster(folder: Path) -> Iterator[Cluster]:
    """Start a cluster, and end all of its processes afterwards."""
    cluster = Cluster(folder)
    try:
        yield cluster
    finally:
        cluster.close()


def _end_with_the_tests() -> None:
    """Let a process be killed when the one that started it ends, however that ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
