"""Lag of a manager's tables, measured by a writer and a reader that share nothing with it.

The writer adds Parquet files and commits to the sources without Spark. The reader follows
the logs of the tables and reads the files that each commit adds. Every table has a column with the
largest id of the orders that a row was computed from. A commit of the writer has arrived in a table
when a file of it has the largest id of the commit, or a larger one.
"""

from __future__ import annotations

import json
import multiprocessing
import time
import uuid
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.manager import observed_cores, until
from benchmarks.report import Measurement, progress
from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.manager.app import Identity, assemble
from dbt.adapters.spark_mt.manager.reconciler import ManagerPolicy

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from multiprocessing.queues import Queue
    from multiprocessing.synchronize import Event

    from pyspark.sql import SparkSession

_SCHEMA = "fresh"
_COLUMNS = "(id BIGINT, k INT, v INT, note STRING, ts TIMESTAMP)"
_ROWS = 50
_LATE = "WITH ('watermark' = 'ts DELAY OF INTERVAL 1 MINUTE') "
_WINDOW = "window(ts, '1 minute')"
_MOST_CORES = 0.4
_SETTLE_S = 180
"""Time for first batches and for the compilation of hot code."""
_PATIENCE_S = 600
_POLL_S = 0.2


@dataclass(frozen=True, slots=True)
class FreshTable:
    """A table whose lag is measured.

    Args:
        query: With a column of the largest id of orders.
        column: The name of this column.
        freshness_s: In seconds.
        clauses: Other clauses of the statement.
        is_full: Whether its mode is FULL, in which its rows may be older by its duration.
    """

    query: str
    column: str
    freshness_s: int
    clauses: str = ""
    is_full: bool = False

    def statement(self, name: str) -> str:
        """Return the CREATE of the table."""
        mode = "REFRESH_MODE = FULL " if self.is_full else ""
        return (
            f"CREATE MATERIALIZED TABLE {_SCHEMA}.{name} {self.clauses}"
            f"FRESHNESS = INTERVAL '{self.freshness_s}' SECOND {mode}AS {self.query}"
        )


_SUMS = "SELECT k, sum(v) AS v, max(id) AS last FROM fresh.orders GROUP BY k"
EIGHT = {
    "appended": FreshTable("SELECT id AS last, v * 2 AS w FROM fresh.orders", "last", 30),
    "every_column": FreshTable("SELECT * FROM fresh.orders", "id", 30),
    "summed": FreshTable(_SUMS, "last", 30),
    "cascade": FreshTable("SELECT count(*) AS n, max(last) AS last FROM fresh.summed", "last", 60),
    "united": FreshTable(
        "SELECT id AS last FROM fresh.orders "
        "UNION ALL SELECT CAST(NULL AS BIGINT) FROM fresh.visits",
        "last",
        60,
    ),
    "windowed": FreshTable(
        f"SELECT {_WINDOW}.start AS m, count(*) AS n, max(id) AS last FROM fresh.orders "
        f"GROUP BY {_WINDOW}",
        "last",
        60,
        _LATE,
    ),
    "full_1": FreshTable(_SUMS, "last", 60, is_full=True),
    "full_2": FreshTable("SELECT max(id) AS last FROM fresh.orders", "last", 120, is_full=True),
}


def measure(spark: SparkSession, seconds: int) -> list[Measurement]:
    """Keep eight tables over two sources that grow every 7 and every 11 seconds.

    Args:
        spark: The session.
        seconds: For how long to look on.
    """
    periods = {"orders": 7.0, "visits": 11.0}
    return _measured(spark, EIGHT, periods, seconds, most_cores=_MOST_CORES)


def many(spark: SparkSession, tables: int, seconds: int) -> list[Measurement]:
    """Keep many tables over five sources that grow every 10 seconds.

    Args:
        spark: The session.
        tables: How many.
        seconds: For how long to look on.
    """
    sources = {f"orders_{n}": 10.0 for n in range(5)}
    found = {
        f"live_{n}": FreshTable(
            f"SELECT id AS last, v + {n} AS v FROM {_SCHEMA}.orders_{n % 5}", "last", 60
        )
        for n in range(tables)
    }
    return _measured(spark, found, sources, seconds)


def _measured(
    spark: SparkSession,
    tables: Mapping[str, FreshTable],
    periods: Mapping[str, float],
    seconds: int,
    most_cores: float | None = None,
) -> list[Measurement]:
    progress(f"{len(tables)} tables over {len(periods)} sources that grow …")
    spark.sql(f"CREATE SCHEMA IF NOT EXISTS {_SCHEMA}")
    for name in periods:
        spark.sql(f"CREATE TABLE {_SCHEMA}.{name} {_COLUMNS} USING delta")
    api = MaterializedTables(spark)
    for name, table in tables.items():
        api.execute(table.statement(name))
    context = multiprocessing.get_context("spawn")
    stop, written, seen = context.Event(), context.Queue(), context.Queue()
    sources = {name: (_directory(spark, name), period) for name, period in periods.items()}
    followed = {name: (_directory(spark, name), t.column) for name, t in tables.items()}
    processes = (
        context.Process(target=write, args=(sources, stop, written), daemon=True),
        context.Process(target=read, args=(followed, stop, seen), daemon=True),
    )
    running = assemble(spark, ManagerPolicy(), Identity(version="benchmark"))
    running.start()
    try:
        until(lambda: len(running.manager.tables()) == len(tables), _PATIENCE_S)
        for process in processes:
            process.start()
        time.sleep(_SETTLE_S)
        began = time.time()
        cores = observed_cores(seconds)
        ended = time.time()
    finally:
        stop.set()
        facts = list(_drained(written)), list(_drained(seen))
        for process in processes:
            process.join(_PATIENCE_S)
        running.stop(60)
    what = f"{len(tables)} tables that follow growing sources"
    return [
        *_lags(tables, facts[0], facts[1], began, ended),
        *cores.measurements(what, most_cores),
        *_sizes({name: directory for name, (directory, _) in followed.items()}),
    ]


def _lags(
    tables: Mapping[str, FreshTable],
    written: list[tuple[str, int, float]],
    seen: list[tuple[str, int, float]],
    began: float,
    ended: float,
) -> Iterator[Measurement]:
    """Yield the lags of each table, for what was written between two instants and had to arrive.

    A commit that has not arrived at the end counts with its lag until then.
    """
    for name, table in tables.items():
        arrivals = [(last, at) for each, last, at in seen if each == name]
        lags = tuple(
            min((at for reached, at in arrivals if reached >= last), default=ended) - written_at
            for source, last, written_at in written
            if f"{_SCHEMA}.{source}" in _bases(tables, table.query)
            and source != "visits"
            and began <= written_at <= ended - 2 * table.freshness_s
        )
        if not lags:
            continue
        about = f"lag of {name}, {'FULL, ' if table.is_full else ''}{table.freshness_s} s"
        most = None if table.is_full else float(table.freshness_s)
        yield Measurement(f"{about}, p50", lags)
        yield Measurement(f"{about}, p99", lags, most_seconds=most, quantile=0.99)


def _bases(tables: Mapping[str, FreshTable], query: str) -> str:
    """Return a query with those of the tables that it reads."""
    below = (t.query for name, t in tables.items() if f"{_SCHEMA}.{name}" in query.split())
    return " ".join((query, *below))


def _sizes(directories: Mapping[str, str]) -> Iterator[Measurement]:
    commits = [len(list(Path(each).glob("_delta_log/*.json"))) for each in directories.values()]
    files = [len(list(Path(each).rglob("*.parquet"))) for each in directories.values()]
    yield Measurement("commits of a table at the end", tuple(map(float, commits)), unit="commits")
    yield Measurement("data files of a table at the end", tuple(map(float, files)), unit="files")


def _directory(spark: SparkSession, name: str) -> str:
    location = spark.sql(f"DESCRIBE DETAIL {_SCHEMA}.{name}").collect()[0]["location"]
    return unquote(urlparse(location).path)


def _drained(queue: Queue[Any]) -> Iterator[Any]:
    """Yield what a process has sent until it ended."""
    while (found := queue.get(timeout=_PATIENCE_S)) is not None:
        yield found


def write(sources: Mapping[str, tuple[str, float]], stop: Event, written: Queue[Any]) -> None:
    """Add rows to the sources until the end, and say which ids were added when.

    Args:
        sources: Directory and seconds between two commits, by name.
        stop: Set at the end.
        written: Gets source, largest id and time of each commit, and None at the end.
    """
    due = dict.fromkeys(sources, time.time())
    newest = dict.fromkeys(sources, 0)
    while not stop.is_set():
        for name, (directory, period) in sources.items():
            if time.time() < due[name]:
                continue
            due[name] += period
            newest[name] += _ROWS
            _commit(Path(directory), newest[name] - _ROWS)
            written.put((name, newest[name], time.time()))
        stop.wait(_POLL_S)
    written.put(None)


def _commit(directory: Path, first: int) -> None:
    """Add one file with the next rows to a table, as a writer of Delta does."""
    ids = list(range(first + 1, first + 1 + _ROWS))
    now = datetime.now(timezone.utc)
    rows = pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "k": pa.array([n % 10 for n in ids], pa.int32()),
            "v": pa.array([n % 100 for n in ids], pa.int32()),
            "note": pa.array(["note"] * _ROWS),
            "ts": pa.array([now] * _ROWS, pa.timestamp("us", tz="UTC")),
        }
    )
    path = directory / f"part-{uuid.uuid4()}.parquet"
    pq.write_table(rows, path)
    log = directory / "_delta_log"
    version = max(int(each.stem) for each in log.glob("*.json")) + 1
    milliseconds = int(now.timestamp() * 1000)
    info = {"timestamp": milliseconds, "operation": "WRITE", "operationParameters": {}}
    add = {
        "path": path.name,
        "partitionValues": {},
        "size": path.stat().st_size,
        "modificationTime": milliseconds,
        "dataChange": True,
        "stats": json.dumps({"numRecords": _ROWS}),
    }
    lines = "\n".join(map(json.dumps, ({"commitInfo": info}, {"add": add})))
    draft = log / f".{uuid.uuid4()}.tmp"
    draft.write_text(lines + "\n", encoding="utf-8")
    (log / f"{version:020}.json").hardlink_to(draft)  # whole, and never over another one
    draft.unlink()


def read(tables: Mapping[str, tuple[str, str]], stop: Event, seen: Queue[Any]) -> None:
    """Follow tables until the end, and say when which ids had arrived.

    Args:
        tables: Directory and column of the largest id, by name.
        stop: Set at the end.
        seen: Gets table, largest id and time for each commit with rows, and None at the end.
    """
    following = dict.fromkeys(tables, 0)
    while not stop.is_set():
        for name, (directory, column) in tables.items():
            commit = Path(directory) / "_delta_log" / f"{following[name]:020}.json"
            if not commit.exists():
                continue
            at = time.time()
            following[name] += 1
            last = max(_ids(Path(directory), commit, column), default=None)
            if last is not None:
                seen.put((name, last, at))
        stop.wait(_POLL_S)
    seen.put(None)


def _ids(directory: Path, commit: Path, column: str) -> Iterator[int]:
    """Yield the largest id of each file that a commit added; a file may be compacted already."""
    for line in commit.read_text(encoding="utf-8").splitlines():
        add = json.loads(line).get("add")
        if (
            not add
            or not add["dataChange"]
            or not (path := directory / unquote(add["path"])).exists()
        ):
            continue
        found = pc.max(pq.read_table(path, columns=[column])[column]).as_py()
        if found is not None:
            yield found
