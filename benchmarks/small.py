"""Statements over small tables, where what surrounds the query costs more than the query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.report import Measurement, progress, seconds_of
from dbt.adapters.spark_mt.api import MaterializedTables

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

PART = "small"
_SCHEMA = "small"
_ROWS = 10_000
_SALES = "id, id % 100 AS product, CAST(id % 1000 / 10 AS DECIMAL(10, 2)) AS amount"
_QUERIES = (
    "SELECT id, amount * 2 AS twice FROM sales WHERE product < 90",
    "SELECT product, count(*) AS n, sum(amount) AS amount FROM sales GROUP BY product",
    "SELECT s.id, p.category, s.amount FROM sales s JOIN products p ON p.product = s.product",
    "SELECT id, rank() OVER (PARTITION BY product ORDER BY amount DESC) AS place FROM sales",
)
_MOST_RATIO = 1.3
_MOST_MORE_S = 0.5
_MOST_UNCHANGED_S = 0.2
_WARM_UP = 5
"""Rounds that are not counted: the JVM compiles what runs in them."""


def measure(spark: SparkSession, samples: int) -> list[Measurement]:
    """Refresh, build and repeat small tables, each in turn with the statement of Spark.

    A sample is the mean of four queries: rows, groups, a join and a window.

    Args:
        spark: The session.
        samples: How often each statement is measured, after five rounds that are not counted.
    """
    spark.sql(f"CREATE SCHEMA IF NOT EXISTS {_SCHEMA}")
    spark.sql(f"USE {_SCHEMA}")
    spark.sql(f"CREATE TABLE sales USING delta AS SELECT {_SALES} FROM range({_ROWS})")
    spark.sql("CREATE TABLE products USING delta AS SELECT id AS product, id % 7 AS category "
              "FROM range(100)")  # fmt: skip
    tables = MaterializedTables(spark)
    for place, query in enumerate(_QUERIES):
        tables.execute(_create(f"ours{place}", query))
        spark.sql(f"CREATE TABLE theirs{place} USING delta AS {query}")
    rounds = [_round(spark, tables, number) for number in range(samples + _WARM_UP)][_WARM_UP:]
    refresh, overwrite, unchanged, build, ctas = zip(*rounds, strict=True)
    more = tuple(ours - theirs for ours, theirs in zip(build, ctas, strict=True))
    return [
        Measurement("REFRESH of a small table", refresh, overwrite, most_ratio=_MOST_RATIO),
        Measurement("unchanged statement, REFRESH", unchanged, most_seconds=_MOST_UNCHANGED_S),
        Measurement("first build of a small table", build, ctas),
        Measurement("… beyond CREATE TABLE AS", more, most_seconds=_MOST_MORE_S),
    ]


def _create(name: str, query: str) -> str:
    return (
        f"CREATE OR ALTER MATERIALIZED TABLE {name} "
        f"FRESHNESS = INTERVAL '1' MINUTE REFRESH_MODE = CONTINUOUS AS {query}"
    )


def _round(spark: SparkSession, tables: MaterializedTables, number: int) -> tuple[float, ...]:
    """Return the mean seconds of each statement; every second time in the other order."""
    spark.sql(f"UPDATE sales SET amount = amount + 1 WHERE id % 50 = {number % 50}")
    parts = [_of_query(spark, tables, place, swap=bool(number % 2)) for place in range(4)]
    means = tuple(sum(part) / len(parts) for part in zip(*parts, strict=True))
    progress(f"round {number}: " + " ".join(f"{each:.2f}" for each in means))
    return means


def _of_query(
    spark: SparkSession, tables: MaterializedTables, place: int, *, swap: bool
) -> tuple[float, ...]:
    query = _QUERIES[place]
    refresh, overwrite = _both(
        lambda: tables.refresh(f"ours{place}"),
        lambda: spark.sql(f"INSERT OVERWRITE theirs{place} {query}"),
        swap=swap,
    )

    def again() -> None:
        tables.execute(_create(f"ours{place}", query))
        tables.refresh(f"ours{place}")

    unchanged = seconds_of(again)
    build, ctas = _both(
        lambda: tables.execute(_create("ours_new", query)),
        lambda: spark.sql(f"CREATE TABLE theirs_new USING delta AS {query}"),
        swap=swap,
    )
    tables.execute("DROP MATERIALIZED TABLE ours_new")
    spark.sql("DROP TABLE theirs_new")
    return refresh, overwrite, unchanged, build, ctas


def _both(
    ours: Callable[[], object], theirs: Callable[[], object], *, swap: bool
) -> tuple[float, float]:
    if swap:
        seconds = seconds_of(theirs)
        return seconds_of(ours), seconds
    return seconds_of(ours), seconds_of(theirs)
