"""What a refresh manager costs while no source changes, and the lag of many hosted tables."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlparse

from benchmarks.manager import Cores, observed_cores, until
from benchmarks.report import Measurement, progress
from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.manager.app import Identity, assemble
from dbt.adapters.spark_mt.manager.reconciler import ManagerPolicy
from dbt.adapters.spark_mt.spark.registry.system_table import SCHEMA as SYSTEM

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.manager.app import RunningManager

_SCHEMA = "resting"
_SETTLE_S = 240
"""Time for first batches, maintenance and the compilation of hot code to end."""
_PATIENCE_S = 600
_MOST_CORES = 0.05
_MOST_COMMITS = 2.0
_LATE = "WITH ('watermark' = 'ts DELAY OF INTERVAL 1 MINUTE') "
_HALF, _ONE, _TWO = (
    f"FRESHNESS = INTERVAL {each} " for each in ("'30' SECOND", "'1' MINUTE", "'2' MINUTE")
)
_WINDOW = "window(ts, '1 minute')"
_FULL = "REFRESH_MODE = FULL "
_TABLES = {
    "appended_1": (_HALF, "SELECT id, k, v * 2 AS twice, ts FROM resting.orders"),
    "appended_2": (_ONE, "SELECT id, upper(note) AS note FROM resting.orders WHERE v > 1"),
    "appended_3": (_TWO, "SELECT id, k FROM resting.visits"),
    "windowed": (
        _LATE + _ONE,
        f"SELECT {_WINDOW}.start AS m, k, count(*) AS n FROM resting.orders GROUP BY {_WINDOW}, k",
    ),
    "changed_1": (_HALF, "SELECT k, sum(v) AS v FROM resting.orders GROUP BY k"),
    "changed_2": (_ONE, "SELECT count(*) AS n FROM resting.visits"),
    "changed_3": (
        _ONE,
        "SELECT k, count(*) AS n FROM resting.orders JOIN resting.visits USING (k) GROUP BY k",
    ),
    "changed_4": (_TWO, "SELECT k, v FROM resting.changed_1 ORDER BY v DESC LIMIT 3"),
    "full_1": (_ONE + _FULL, "SELECT k, max(v) AS v FROM resting.orders GROUP BY k"),
    "full_2": (_TWO + _FULL, "SELECT max(id) AS id FROM resting.visits"),
}
"""Clauses and query by name: streams that append, one with windows, tables that are computed again
when a source changes, and tables in mode FULL."""
_EVENTS = "(id BIGINT, k INT, v INT, note STRING, ts TIMESTAMP)"


@dataclass(frozen=True, slots=True)
class Rest:
    """What a manager used while its sources did not change.

    Args:
        cores: What it used of the machine.
        commits: Commits a minute in the system tables.
        versions: Commit files in their logs at the end.
        files: All files below their directories at the end.
    """

    cores: Cores
    commits: float
    versions: int
    files: int


def rest(spark: SparkSession, seconds: int) -> list[Measurement]:
    """Keep ten tables of every engine while no source changes.

    Args:
        spark: The session.
        seconds: For how long to look on.
    """
    progress(f"a manager of {len(_TABLES)} tables whose sources do not change …")
    _sources(spark)
    tables = MaterializedTables(spark)
    for name, (clauses, query) in _TABLES.items():
        tables.execute(f"CREATE MATERIALIZED TABLE {_SCHEMA}.{name} {clauses}AS {query}")
    running = assemble(spark, ManagerPolicy(), Identity(version="benchmark"))
    running.start()
    try:
        until(lambda: _has_begun(running), _PATIENCE_S)
        spark.sql(f"INSERT INTO {_SCHEMA}.orders {_events(100)}")
        spark.sql(f"INSERT INTO {_SCHEMA}.visits {_events(100)}")
        used = _observed(spark, seconds)
    finally:
        running.stop(30)
    return _measured(f"{len(_TABLES)} tables at rest", used)


def hosts(spark: SparkSession, tables: int, seconds: int) -> list[Measurement]:
    """Host many CONTINUOUS tables, over a source that grows and then over one that does not.

    Args:
        spark: The session.
        tables: How many.
        seconds: For how long each.
    """
    progress(f"{tables} hosted tables …")
    spark.sql(f"CREATE SCHEMA IF NOT EXISTS {_SCHEMA}")
    spark.sql(f"CREATE TABLE {_SCHEMA}.events (id BIGINT, v INT) USING delta")
    spark.sql(f"INSERT INTO {_SCHEMA}.events SELECT id, 1 FROM range(1000)")
    mt = MaterializedTables(spark)
    for number in range(tables):
        mt.execute(
            f"CREATE MATERIALIZED TABLE {_SCHEMA}.live{number} FRESHNESS = INTERVAL '1' MINUTE "
            f"AS SELECT id, v + {number} AS v FROM {_SCHEMA}.events"
        )
    running = assemble(spark, ManagerPolicy(compact_after=0), Identity(version="benchmark"))
    running.start()
    try:
        until(lambda: running.manager.about().queries_running >= tables, _PATIENCE_S)
        lags = _lags(spark, running, seconds)
        used = _observed(spark, seconds)
    finally:
        running.stop(60)
    about = f"lag of {tables} tables, freshness 60 s"
    return [
        Measurement(f"{about}, p50", lags),
        Measurement(f"{about}, p99", lags, most_seconds=60.0, quantile=0.99),
        *_measured(f"{tables} hosted tables at rest", used),
    ]


def _has_begun(running: RunningManager) -> bool:
    """Whether every table is followed, or has a scheduled time."""
    views = running.manager.tables()
    begun = (v.next_run_at_ms or v.activity in {"streaming", "following"} for v in views)
    return len(views) == len(_TABLES) and all(begun)


def _lags(spark: SparkSession, running: RunningManager, seconds: int) -> tuple[float, ...]:
    lags: list[float] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        spark.sql(f"INSERT INTO {_SCHEMA}.events SELECT id, 2 FROM range(10)")
        time.sleep(5)
        views = running.manager.tables()
        lags += [v.lag_seconds for v in views if ".live" in v.name and v.lag_seconds is not None]
    return tuple(lags)


def _sources(spark: SparkSession) -> None:
    spark.sql(f"CREATE SCHEMA IF NOT EXISTS {_SCHEMA}")
    for name in ("orders", "visits"):
        spark.sql(f"CREATE TABLE {_SCHEMA}.{name} {_EVENTS} USING delta")
        spark.sql(f"INSERT INTO {_SCHEMA}.{name} {_events(1000)}")


def _events(number: int) -> str:
    return (
        "SELECT id, CAST(id % 10 AS INT), CAST(id % 100 AS INT), 'note', current_timestamp() "
        f"FROM range({number})"
    )


def _observed(spark: SparkSession, seconds: int) -> Rest:
    """Look on after a while, and say every minute what was used in it."""
    time.sleep(_SETTLE_S)
    first_version, _ = _held(spark)
    began = time.monotonic()
    cores = observed_cores(seconds)
    passed = time.monotonic() - began
    version, files = _held(spark)
    commits = {name: version[name] - first_version.get(name, -1) for name in version}
    progress(f"  commits in {passed:.0f} s: {commits}; files: {files}")
    versions = sum(len(list(each.glob("_delta_log/*.json"))) for each in _directories(spark))
    return Rest(cores, 60 * sum(commits.values()) / passed, versions, sum(files.values()))


def _held(spark: SparkSession) -> tuple[dict[str, int], dict[str, int]]:
    """Return the newest version of each system table, and how many files it has."""
    versions, files = {}, {}
    for each in _directories(spark):
        log = [int(path.stem) for path in each.glob("_delta_log/*.json") if path.stem.isdigit()]
        versions[each.name] = max(log)
        files[each.name] = sum(path.is_file() for path in each.rglob("*"))
    return versions, files


def _directories(spark: SparkSession) -> list[Path]:
    rows = spark.sql(f"DESCRIBE SCHEMA EXTENDED {SYSTEM}").collect()
    location = next(row[1] for row in rows if row[0] == "Location")
    return [log.parent for log in Path(unquote(urlparse(location).path)).glob("*/_delta_log")]


def _measured(what: str, used: Rest) -> list[Measurement]:
    cores = used.cores.jvm + used.cores.python
    return [
        *used.cores.measurements(what),
        Measurement(f"{what}: cores", (cores,), most_seconds=_MOST_CORES, unit="cores"),
        Measurement(
            f"{what}: commits a minute in system tables",
            (used.commits,),
            most_seconds=_MOST_COMMITS,
            unit="commits",
        ),
        Measurement(f"{what}: versions of system tables", (used.versions,), unit="versions"),
        Measurement(f"{what}: files of system tables", (used.files,), unit="files"),
    ]
