"""Accepted refreshes that wait in a manager: their states, commits, and the time of its stop.

`python -m benchmarks.manager_queue <folder> <tables>` makes the tables in the folder of a project.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from benchmarks import connect
from benchmarks.report import Measurement, progress
from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.manager.views import Role
from dbt.adapters.spark_mt.spark.launch.session import classic_spark
from dbt.adapters.spark_mt.spark.registry.system_table import SCHEMA, TABLE
from tests.support.free_ports import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

_TOKEN = "token-of-the-benchmark-1"  # noqa: S105 - of a manager on loopback that ends with it
_STOP_WITHIN_S = 30.0
_CLIENTS = 8
_PATIENCE_S = 1_800
_POLL_S = 1.0
_WAITING_S = 60.0
_MOST_COMMITS = 2.0
_RUNNING = "RUNNING"
_OVER = frozenset({"FINISHED", "SKIPPED", "CANCELED"})


class Manager:
    """A manager as its clients see it."""

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}"

    def ask(self, path: str, body: object = None) -> Any:  # noqa: ANN401 - a JSON document
        """Send a request; one that is refused for now is sent again after Retry-After."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {_TOKEN}", "Content-Type": "application/json"}
        for _ in range(_PATIENCE_S):
            try:
                request = Request(self._url + path, data, headers)  # noqa: S310 - http
                with urlopen(request, timeout=60) as answer:  # noqa: S310 - http
                    return json.load(answer)
            except HTTPError as error:  # noqa: PERF203 - as seldom as a refusal
                if error.code != 503:
                    raise
                time.sleep(float(error.headers.get("Retry-After", 1)))
        raise TimeoutError(path)

    def is_active(self) -> bool:
        """Whether it leads."""
        try:
            return bool(self.ask("/v3/manager")["role"] == Role.ACTIVE.value)
        except (URLError, ConnectionError, TimeoutError):
            return False

    def status(self, job_id: str) -> str:
        """Return the status of a refresh."""
        return str(self.ask(f"/v3/jobs/{job_id}")["status"])


def measure(folder: Path, tables: int, refreshes: int) -> list[Measurement]:
    """Accept many refreshes, stop the manager in the middle, and let the next one end them.

    Args:
        folder: For a project.
        tables: How many.
        refreshes: How many refreshes of them are accepted.
    """
    progress(f"{refreshes:,} accepted refreshes of {tables:,} tables …")
    project = _project(folder)
    command = [sys.executable, "-m", "benchmarks.manager_queue", str(project), str(tables)]
    subprocess.run(command, check=True, env=connect.environment())  # noqa: S603 - our own command
    seen: Counter[str] = Counter()
    with _serving(project) as (manager, process):
        began = time.monotonic()
        bodies = [{"materializedTable": f"queued.t{n % tables}"} for n in range(refreshes)]
        with ThreadPoolExecutor(_CLIENTS) as clients:
            answers = clients.map(
                lambda body: manager.ask("/v3/materialized-tables/refresh", body), bodies
            )
            job_ids = [str(answer["jobID"]) for answer in answers]
        accepted_s = time.monotonic() - began
        progress(f"  accepted after {accepted_s:.0f} s")
        commits = _watch(project, manager, job_ids, seen)
        stopped_s = _stop(process)
    progress(f"  stopped after {stopped_s:.1f} s")
    with _serving(project) as (manager, process):
        end = time.monotonic() + _PATIENCE_S
        left = job_ids
        while left and time.monotonic() < end:
            time.sleep(_POLL_S)
            statuses = {job_id: manager.status(job_id) for job_id in left}
            seen.update(statuses.values())
            left = [job_id for job_id in left if statuses[job_id] == _RUNNING]
        last = Counter(manager.status(job_id) for job_id in job_ids)
        _stop(process)
    progress(f"  at the end {dict(last)}; states seen {dict(seen)}")
    wrong = sum(count for status, count in seen.items() if status not in {_RUNNING, *_OVER})
    about = f"{refreshes:,} accepted refreshes"
    return [
        Measurement(f"{about}: accepted", (accepted_s,)),
        Measurement(f"{about}: states that were no true ones", (wrong,), most_seconds=0, unit=""),
        Measurement(f"{about}: not over", (len(left),), most_seconds=0, unit=""),
        Measurement(
            f"{about}: commits a minute beyond one for each that wrote rows",
            (commits,),
            most_seconds=_MOST_COMMITS + 60 / 5,  # ends that had nothing to do come with a tick
            unit="commits",
        ),
        Measurement("… the stop with the rest waiting", (stopped_s,), most_seconds=_STOP_WITHIN_S),
    ]


def _project(folder: Path) -> Path:
    """Copy the demo project for its profile; its tables are not made."""
    ignored = shutil.ignore_patterns(*connect.NOT_COPIED)
    return Path(shutil.copytree(connect.EXAMPLE, folder / "queued", ignore=ignored))


def _watch(project: Path, manager: Manager, job_ids: list[str], seen: Counter[str]) -> float:
    """Poll every refresh for a while; return the commits a minute that no rows explain."""
    log = project / "spark-warehouse" / f"{SCHEMA}.db" / TABLE / "_delta_log"
    version, done, began = _newest(log), _finished(manager, job_ids), time.monotonic()
    while time.monotonic() - began < _WAITING_S:
        seen.update(manager.status(job_id) for job_id in job_ids)
        time.sleep(_POLL_S)
    more = _newest(log) - version - (_finished(manager, job_ids) - done)
    return max(0.0, 60 * more / (time.monotonic() - began))


def _finished(manager: Manager, job_ids: list[str]) -> int:
    return sum(manager.status(job_id) == "FINISHED" for job_id in job_ids)


def _newest(log: Path) -> int:
    return max(int(path.stem) for path in log.glob("*.json") if path.stem.isdigit())


@contextmanager
def _serving(project: Path) -> Iterator[tuple[Manager, subprocess.Popen[bytes]]]:
    port = free_port()
    program = Path(sys.executable).with_name("spark-mt")
    options = ["--port", str(port), "--stop-within", f"{_STOP_WITHIN_S:.0f}"]
    with (project / "serve.log").open("ab") as log:
        process = subprocess.Popen(  # noqa: S603 - our own command
            [program, "serve", *options],
            cwd=project,
            stdout=log,
            stderr=log,
            env={**os.environ, "SPARK_MT_TOKEN": _TOKEN},
        )
        try:
            manager, end = Manager(port), time.monotonic() + _PATIENCE_S
            while not manager.is_active():
                if time.monotonic() > end or process.poll() is not None:
                    raise connect.ServerFailedError(project / "serve.log")
                time.sleep(_POLL_S)
            yield manager, process
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()


def _stop(process: subprocess.Popen[bytes]) -> float:
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    process.wait(_PATIENCE_S)
    return time.monotonic() - began


def make(project: Path, tables: int) -> None:
    """Make tables that lack the newest rows of their source."""
    spark = classic_spark(connect.confs_of(project), project, project / "spark.log")
    spark.sql("CREATE SCHEMA queued")
    spark.sql("CREATE TABLE queued.events USING delta AS SELECT id, 1 AS v FROM range(1000)")
    found = MaterializedTables(spark)
    for number in range(tables):
        found.execute(
            f"CREATE MATERIALIZED TABLE queued.t{number} FRESHNESS = INTERVAL '1' DAY "
            f"REFRESH_MODE = FULL AS SELECT id, v + {number} AS v FROM queued.events"
        )
    spark.sql("INSERT INTO queued.events SELECT id, 2 FROM range(10)")
    spark.stop()


if __name__ == "__main__":
    make(Path(sys.argv[1]), int(sys.argv[2]))
