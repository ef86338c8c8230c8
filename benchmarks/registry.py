"""What the list of materialized tables costs when there are many."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from benchmarks.report import Measurement
from dbt.adapters.spark_mt.api import MaterializedTables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = 1000
SINGLE_ROWS = 60
SCHEMA = "bench_registry"
REGISTRY = "materialized_table_system.registry"
STATEMENT = f"SHOW MATERIALIZED TABLES IN {SCHEMA}"


def measure(spark: SparkSession, samples: int) -> Measurement:
    """List 1,000 tables; two listings before the first sample warm up."""
    fill(spark)
    seconds = [_list(spark) for _ in range(samples + 2)][2:]
    return Measurement(f"list {TABLES:,} tables, warm", tuple(seconds), most_seconds=1.0)


def fill(spark: SparkSession) -> None:
    """Make one materialized table and 999 more that the catalog and the registry know.

    The registry merges its files every 64 rows, so the last rows come one by one, as they would.
    """
    spark.sql(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
    MaterializedTables(spark).execute(
        f"CREATE MATERIALIZED TABLE {SCHEMA}.t0 REFRESH_MODE = FULL AS SELECT id FROM range(1)"
    )
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda i: _catalog_table(spark, i), range(1, TABLES)))
    columns = [c for c in spark.table(REGISTRY).columns if c != "table_name"]
    row = "table_name = 't0' AND kind = 'TABLE'"
    copied = f"SELECT {', '.join(columns)} FROM {REGISTRY} WHERE {row} LIMIT 1"
    names = f"(table_name, {', '.join(columns)})"
    for first, last in [(1, TABLES - SINGLE_ROWS), *((i, i + 1) for i in _single_rows())]:
        spark.sql(
            f"INSERT INTO {REGISTRY} {names} "
            f"SELECT concat('t', id), entry.* FROM range({first}, {last}) "
            f"CROSS JOIN ({copied}) AS entry"
        )


def _single_rows() -> range:
    return range(TABLES - SINGLE_ROWS, TABLES)


def _catalog_table(spark: SparkSession, number: int) -> None:
    spark.sql(f"CREATE TABLE {SCHEMA}.t{number} (id BIGINT) USING parquet")


def _list(spark: SparkSession) -> float:
    start = time.perf_counter()
    result = MaterializedTables(spark).execute(STATEMENT)
    seconds = time.perf_counter() - start
    listed = len(result.rows) if result else 0
    if listed != TABLES:
        raise IncompleteListError(listed)
    return seconds


class IncompleteListError(RuntimeError):
    """The listing did not show every table, so its time means nothing."""

    def __init__(self, listed: int) -> None:
        super().__init__(f"{listed} of {TABLES} tables were listed")
