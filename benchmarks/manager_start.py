"""Time until `spark-mt serve` is ready and answers `dbt run`, against a bare start of Spark.

`python -m benchmarks.manager_start <folder>` starts Spark in the folder of a project, and ends.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from benchmarks import connect
from benchmarks.report import Measurement, progress
from dbt.adapters.spark_mt.spark.session import classic_spark
from tests.support.free_ports import free_port

_MOST_S = 5.0
_PATIENCE_S = 300


def measure(folder: Path, samples: int) -> list[Measurement]:
    """Start Spark, and a manager of the demo project's tables, in turn.

    Each is a process of its own, from its start until Spark has run a job, or until the manager
    says that it is ready.
    """
    project = connect.prepare(folder / "started")
    rounds = [(_spark(project), _manager(project)) for _ in range(samples)]
    floor, ours = zip(*rounds, strict=True)
    over = tuple(mine - bare for bare, mine in rounds)
    return [
        Measurement("spark-mt serve until it is ready", ours, floor),
        Measurement("the same without the start of Spark", over, most_seconds=_MOST_S),
    ]


def _spark(project: Path) -> float:
    command = [sys.executable, "-m", "benchmarks.manager_start", str(project)]
    started = time.perf_counter()
    subprocess.run(command, check=True, env=connect.environment())  # noqa: S603 - our own command
    return time.perf_counter() - started


def _manager(project: Path) -> float:
    port = free_port()
    program = Path(sys.executable).with_name("spark-mt")
    log = (project / "serve.log").open("ab")
    started = time.perf_counter()
    with (
        log,
        subprocess.Popen(  # noqa: S603 - our own command
            [program, "serve", "--port", str(port)], cwd=project, stdout=log, stderr=log
        ) as manager,
    ):
        try:
            while not _is_ready(port):
                if time.perf_counter() - started > _PATIENCE_S or manager.poll() is not None:
                    raise connect.ServerFailedError(project / "serve.log")
                time.sleep(0.05)
            seconds = time.perf_counter() - started
        finally:
            manager.send_signal(signal.SIGTERM)
    progress(f"ready after {seconds:.1f} s")
    return seconds


def _is_ready(port: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
            return bool(answer.status == 200)
    except (URLError, ConnectionError, TimeoutError):
        return False


def start(project: Path) -> None:
    """Start Spark with the confs of a project, and run one job."""
    confs = connect.confs_of(project)
    os.chdir(project)
    spark = classic_spark(confs, project, project / "spark.log")
    spark.range(1).count()
    os._exit(0)


if __name__ == "__main__":
    start(Path(sys.argv[1]))
