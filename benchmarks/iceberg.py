"""Materialized tables of Iceberg, each next to the same table of Delta.

Needs the environment of `make iceberg`: `.work/iceberg/venv/bin/python -m benchmarks --only
iceberg`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from benchmarks import streams_sources
from benchmarks.report import Measurement, progress, seconds_of
from benchmarks.streams_sides import Ours, batches
from dbt.adapters.spark_mt.api import MaterializedTables
from tests.iceberg.conftest import EXTENSIONS, ICEBERG, SQLITE, iceberg_confs
from tests.support.delta_package import delta_confs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

PART = "iceberg"
ROWS = 2_000_000
CHANGED = 100
_SCHEMA = "beside"
_CATALOGS = {"ice": "iceberg", "spark_catalog": "delta"}
_FEEDS = {"ice": streams_sources.IcebergFeed, "spark_catalog": streams_sources.DeltaFeed}
_SMALL = "SELECT product, count(*) AS n, sum(amount) AS amount FROM small GROUP BY product"
_LARGE = "SELECT id, product, amount * 2 AS twice FROM {} WHERE product < 90"
_SALES = "id, id % 100 AS product, CAST(id % 1000 / 10 AS DECIMAL(10, 2)) AS amount"
_WAYS = {"copy-on-write": "false", "merge-on-read": "true"}
"""How rows are changed: the property of Iceberg, and whether Delta marks them in vectors."""
_APPENDED = "SELECT id, k, v * 2 AS twice, upper(note) AS note, ts FROM {source} WHERE v % 10 <> 0"
_ARRIVING = 1_000
_ARRIVALS = 10
"""How often rows arrive at a stream for each sample, and how often before."""
_WARM_UP = 3
_MOST_RATIO = 1.0


def confs(folder: Path) -> dict[str, str]:
    """Return what a Spark needs besides to have a catalog `ice` of Iceberg."""
    delta = delta_confs()
    packages, extensions = "spark.jars.packages", "spark.sql.extensions"
    return {
        packages: f"{delta[packages]},{ICEBERG},{SQLITE}",
        extensions: f"{delta[extensions]},{EXTENSIONS}",
        **iceberg_confs(folder),  # type: ignore[no-untyped-call]
    }


def measure(spark: SparkSession, samples: int) -> list[Measurement]:
    """Measure statements and refreshes, in turn in a catalog of Iceberg and in that of Delta.

    Args:
        spark: The session.
        samples: How often each thing is measured, after three rounds that are not counted.
    """
    sides = [_Side(spark, catalog, provider) for catalog, provider in _CATALOGS.items()]
    rounds = []
    for number in range(samples + _WARM_UP):
        turn = sides if number % 2 else sides[::-1]
        taken = {side.catalog: side.round(number) for side in turn}
        progress(f"round {number}: {taken}")
        rounds.append([taken[side.catalog] for side in sides])
    ours, theirs = (_columns([each[place] for each in rounds[_WARM_UP:]]) for place in (0, 1))
    return [
        *(
            Measurement(f"{name}, Iceberg", seconds, theirs[name], most_ratio=_MOST_RATIO)
            for name, seconds in ours.items()
        ),
        _streams(sides, samples),
    ]


def _streams(sides: Sequence[_Side], samples: int) -> Measurement:
    """Measure batches that append, in turn on both sides, after some that are not counted."""
    progress("streams …")
    hosted = [side.stream() for side in sides]
    taken: list[list[float]] = [[] for _ in hosted]
    try:
        for number in range(_ARRIVALS * (samples + 1)):
            for stream, side, seconds in zip(hosted, sides, taken, strict=True):
                side.use()
                found = batches(stream, _ARRIVING)
                if number >= _ARRIVALS:
                    seconds.extend(found)
    finally:
        for stream in hosted:
            stream.stop()
    ours, theirs = (tuple(seconds) for seconds in taken)
    return Measurement(
        f"batch of {_ARRIVING:,} rows by a stream, Iceberg", ours, theirs, most_ratio=_MOST_RATIO
    )


def _columns(rounds: Sequence[dict[str, float]]) -> dict[str, tuple[float, ...]]:
    return {name: tuple(each[name] for each in rounds) for name in rounds[0]}


class _Side:
    """The sources and tables of one format.

    Args:
        spark: The session.
        catalog: Its catalog.
        provider: The format's name in CREATE TABLE.
    """

    def __init__(self, spark: SparkSession, catalog: str, provider: str) -> None:
        self.catalog = catalog
        self._spark, self._provider = spark, provider
        self._tables = MaterializedTables(spark)
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {catalog}.{_SCHEMA}")
        self.use()
        self._source("small", 10_000, "merge-on-read")
        self._tables.execute(_create("ours_small", _SMALL))
        for way in _WAYS:
            name = way.replace("-", "_")
            progress(f"{provider}, {way} …")
            self._source(name, ROWS, way)
            strict = "WITH ('incremental' = 'strict') "
            self._tables.execute(_create(f"ours_{name}", _LARGE.format(name), strict))

    def round(self, number: int) -> dict[str, float]:
        """Do everything once; return the seconds of each thing."""
        self.use()
        self._spark.sql(f"UPDATE small SET amount = amount + 1 WHERE id % 50 = {number % 50}")
        taken = {
            "REFRESH of a small table": seconds_of(lambda: self._tables.refresh("ours_small")),
            "unchanged statement": seconds_of(
                lambda: self._tables.execute(_create("ours_small", _SMALL))
            ),
            "first build of a small table": seconds_of(
                lambda: self._tables.execute(_create("ours_new", _SMALL))
            ),
        }
        self._tables.execute("DROP MATERIALIZED TABLE ours_new")
        for way in _WAYS:
            name = way.replace("-", "_")
            step = ROWS // CHANGED
            self._spark.sql(
                f"UPDATE {name} SET amount = amount + 1 WHERE id % {step} = {number % step}"
            )
            start = time.perf_counter()
            done = self._tables.refresh(f"ours_{name}")
            taken[f"{CHANGED} changed rows, {way}"] = time.perf_counter() - start
            assert done.strategy == "differential", done  # noqa: S101 - else another thing
        return taken

    def stream(self) -> Ours:
        """Create and start a hosted table over a source that grows."""
        self._spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {self.catalog}.{streams_sources.SCHEMA}")
        self.use()
        return Ours(self._spark, "appended", _FEEDS[self.catalog](self._spark, "events"), _APPENDED)

    def use(self) -> None:
        """Make its schema the current one."""
        self._spark.sql(f"USE {self.catalog}.{_SCHEMA}")

    def _source(self, name: str, rows: int, way: str) -> None:
        modes = ", ".join(f"'write.{kind}.mode' = '{way}'" for kind in ("update", "delete"))
        vectors = f"'delta.enableDeletionVectors' = '{_WAYS[way]}'"
        properties = modes if self._provider == "iceberg" else vectors
        self._spark.sql(
            f"CREATE TABLE {name} USING {self._provider} TBLPROPERTIES ({properties}) "
            f"AS SELECT {_SALES} FROM range(0, {rows}, 1, 8)"
        )


def _create(name: str, query: str, options: str = "") -> str:
    return (
        f"CREATE OR ALTER MATERIALIZED TABLE {name} {options}"
        f"FRESHNESS = INTERVAL '1' MINUTE REFRESH_MODE = CONTINUOUS AS {query}"
    )
