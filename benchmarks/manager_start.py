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
from typing import TYPE_CHECKING
from urllib.error import URLError
from urllib.request import urlopen

from benchmarks import connect
from benchmarks.report import Measurement, progress
from dbt.adapters.spark_mt.spark.session import classic_spark
from tests.support.free_ports import free_port

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST_S = 5.0
_PATIENCE_S = 300
_WRITTEN_S = 10
"""How long the JVM may take to write the file of an archive."""
_WARM_UP = (
    "CREATE TABLE warm_up USING delta AS SELECT 1 AS k; SELECT count(*) FROM warm_up; "
    "DROP TABLE warm_up"
)


def measure(folder: Path, samples: int) -> list[Measurement]:
    """Start Spark, and a manager of the demo project's tables, in turn.

    Each is a process of its own, from its start until Spark has run a job, or until the manager
    says that it is ready. A manager starts with an archive of classes, too, as docs/operating.md
    describes it.
    """
    project = connect.prepare(folder / "started")
    archive = _archived(project, folder / "classes.jsa")
    rounds = [
        (_spark(project), _manager(project), _manager(project, archive)) for _ in range(samples)
    ]
    floor, ours, archived = zip(*rounds, strict=True)
    over = tuple(mine - bare for bare, mine, _ in rounds)
    return [
        Measurement("spark-mt serve until it is ready", ours, floor),
        Measurement("the same without the start of Spark", over, most_seconds=_MOST_S),
        Measurement("spark-mt serve until it is ready, with an archive", archived, floor),
    ]


def _archived(project: Path, file: Path) -> dict[str, str]:
    """Let a Spark archive its classes when it ends; return the environment that uses the file."""
    program = Path(sys.executable).with_name("spark-mt")
    making = {"SPARK_SUBMIT_OPTS": f"-XX:ArchiveClassesAtExit={file} -Xlog:disable"}
    subprocess.run(  # noqa: S603 - our own command
        [program, "sql", _WARM_UP], check=True, cwd=project, env={**os.environ, **making}
    )
    ends = time.monotonic() + _PATIENCE_S
    while not file.exists():  # Spark ends after the command
        if time.monotonic() > ends:
            raise TimeoutError(file)
        time.sleep(1)
    time.sleep(_WRITTEN_S)
    return {"SPARK_SUBMIT_OPTS": f"-XX:SharedArchiveFile={file}"}


def _spark(project: Path) -> float:
    command = [sys.executable, "-m", "benchmarks.manager_start", str(project)]
    started = time.perf_counter()
    subprocess.run(command, check=True, env=connect.environment())  # noqa: S603 - our own command
    return time.perf_counter() - started


def _manager(project: Path, variables: Mapping[str, str] | None = None) -> float:
    port = free_port()
    program = Path(sys.executable).with_name("spark-mt")
    log = (project / "serve.log").open("ab")
    started = time.perf_counter()
    with (
        log,
        subprocess.Popen(  # noqa: S603 - our own command
            [program, "serve", "--port", str(port)],
            cwd=project,
            stdout=log,
            stderr=log,
            env={**os.environ, **(variables or {})},
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
