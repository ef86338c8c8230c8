"""Time of `spark-mt serve` until it is ready, and of `dbt run`, against a bare start of Spark.

`python -m benchmarks.manager_start <folder>` starts Spark in the folder of a project, and ends.
"""

from __future__ import annotations

import json
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
from dbt.adapters.spark_mt.manager.views import Role
from dbt.adapters.spark_mt.spark.launch.session import classic_spark
from tests.support.free_ports import free_port

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST_S = 5.0
_PATIENCE_S = 300
_RUN = ("run", *connect.BATCH_ONLY)
_ARCHIVE = ", with an archive"


def measure(folder: Path, samples: int) -> list[Measurement]:
    """Start Spark, a manager of the demo project's tables, and dbt without a manager, in turn.

    Each is a process of its own. A start of Spark ends when a job has run, one of a manager when it
    says that it is ready, and then that it keeps tables fresh. The project's five models are
    unchanged. All of them start with an archive of classes, too, as `spark-mt archive` makes it.
    """
    project = connect.prepare(folder / "started")
    models = project / "models"
    (models / "departures_again.sql").write_bytes((models / "hourly_departures.sql").read_bytes())
    connect.dbt_seconds(project, *_RUN)
    without, archived = ({"XDG_CACHE_HOME": str(folder / name)} for name in ("empty", "cache"))
    program = Path(sys.executable).with_name("spark-mt")
    subprocess.run(  # noqa: S603 - our own command
        [program, "archive"], check=True, cwd=project, env={**os.environ, **archived}
    )
    return [
        measured
        for suffix, variables in (("", without), (_ARCHIVE, archived))
        for measured in _measure(project, suffix, variables, samples)
    ]


def _measure(
    project: Path, suffix: str, variables: Mapping[str, str], samples: int
) -> list[Measurement]:
    rounds = [_round(project, variables) for _ in range(samples)]
    floor, ready, active, run, parse = zip(*rounds, strict=True)
    over = tuple(mine - bare for bare, mine, *_ in rounds)
    more = tuple(seconds - bare - least for bare, _, _, seconds, least in rounds)
    return [
        Measurement(f"spark-mt serve{suffix}: ready", ready, floor),
        Measurement("… without the start of Spark", over, most_seconds=_MOST_S),
        Measurement("… until it keeps tables fresh", active, floor),
        Measurement(f"dbt run, 5 unchanged models{suffix}", run, parse),
        Measurement("… without the start of Spark and dbt parse", more, most_seconds=_MOST_S),
    ]


def _round(project: Path, variables: Mapping[str, str]) -> tuple[float, float, float, float, float]:
    bare = _spark(project, variables)
    ready, active = _manager(project, variables)
    run, parse = (
        connect.dbt_seconds(project, *words, more=variables) for words in (_RUN, ("parse",))
    )
    progress(f"Spark {bare:.1f} s; dbt run {run:.1f} s, parse {parse:.1f} s")
    return bare, ready, active, run, parse


def _spark(project: Path, variables: Mapping[str, str]) -> float:
    command = [sys.executable, "-m", "benchmarks.manager_start", str(project)]
    started = time.perf_counter()
    subprocess.run(command, check=True, env={**connect.environment(), **variables})  # noqa: S603 - our own command
    return time.perf_counter() - started


def _manager(project: Path, variables: Mapping[str, str]) -> tuple[float, float]:
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
            env={**os.environ, **variables},
        ) as manager,
    ):
        try:
            seconds = []
            for is_so in (_is_ready, _is_active):
                while not is_so(port):
                    if time.perf_counter() - started > _PATIENCE_S or manager.poll() is not None:
                        raise connect.ServerFailedError(project / "serve.log")
                    time.sleep(0.05)
                seconds.append(time.perf_counter() - started)
        finally:
            manager.send_signal(signal.SIGTERM)
    ready, active = seconds
    progress(f"ready after {ready:.1f} s, keeps tables fresh after {active:.1f} s")
    return ready, active


def _is_ready(port: int) -> bool:
    return _answer(port, "/readyz") is not None


def _is_active(port: int) -> bool:
    answer = _answer(port, "/v3/manager")
    return answer is not None and answer["role"] == Role.ACTIVE.value


def _answer(port: int, path: str) -> dict[str, object] | None:
    try:
        with urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            found: dict[str, object] = json.load(answer)
            return found
    except (URLError, ConnectionError, TimeoutError):
        return None


def start(project: Path) -> None:
    """Start Spark with the confs of a project, and run one job."""
    confs = connect.confs_of(project)
    os.chdir(project)
    spark = classic_spark(confs, project, project / "spark.log")
    spark.range(1).count()
    os._exit(0)


if __name__ == "__main__":
    start(Path(sys.argv[1]))
