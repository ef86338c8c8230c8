"""Lags of tables against their freshness, over a source that grows every second."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from benchmarks.report import Measurement, progress
from benchmarks.streams_sources import SCHEMA, DeltaFeed
from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition.commit_metadata import decode_commit
from dbt.adapters.spark_mt.definition.positions import VersionedPosition

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FRESHNESS_S = (10, 30, 60)
_QUERY = "SELECT id, k, v * 2 AS twice, upper(note) AS note, ts FROM {source} WHERE v % 10 <> 0"
_ROWS = 1_000
_PACE_S = 1.0


def measure(spark: SparkSession, seconds: float) -> list[Measurement]:
    """Host a table for each freshness over one source, and look how old each commit became.

    Args:
        spark: The session.
        seconds: For how long the source grows.
    """
    progress(f"lag, {seconds:.0f} s …")
    feed = DeltaFeed(spark, "lag_events")
    tables = MaterializedTables(spark)
    names = {freshness: f"{SCHEMA}.lag_{freshness}" for freshness in FRESHNESS_S}
    for freshness, name in names.items():
        tables.execute(
            f"CREATE MATERIALIZED TABLE {name} FRESHNESS = INTERVAL '{freshness}' SECOND "
            f"AS {_QUERY.format(source=feed.table)}"
        )
        tables.start(name)
    try:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            began = time.monotonic()
            feed.append(_ROWS)
            time.sleep(max(0.0, began + _PACE_S - time.monotonic()))
        for freshness, name in names.items():
            tables.await_fresh(name, 10 * freshness)
    finally:
        tables.stop_all()
    return [
        Measurement(
            f"lag, p99, freshness {freshness} s",
            _lags(spark, feed.table, name),
            most_seconds=float(freshness),
            quantile=0.99,
        )
        for freshness, name in names.items()
    ]


def _lags(spark: SparkSession, source: str, target: str) -> tuple[float, ...]:
    """After how many seconds each commit of the source was in the target, by the logs' times."""
    came = {row["version"]: row["timestamp"].timestamp() for row in _history(spark, source)}
    reflected = [
        (row["timestamp"].timestamp(), position.version)
        for row in _history(spark, target)
        if (metadata := decode_commit(row["userMetadata"])) is not None
        for position in (metadata.positions or {}).values()
        if isinstance(position, VersionedPosition)
    ]
    return tuple(
        min(at for at, version in reflected if version >= number) - arrived
        for number, arrived in came.items()
        if number > 0
    )


def _history(spark: SparkSession, table: str) -> list[Any]:
    return spark.sql(f"DESCRIBE HISTORY {table}").collect()
