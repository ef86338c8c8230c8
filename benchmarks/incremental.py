"""Refreshes after changes of a known size, against INSERT OVERWRITE of the same query.

The changes are one third inserts, updates and deletes each, of rows that are spread over the whole
source. All tables are refreshed after each of them, in turn with their baselines.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from benchmarks.report import Measurement, progress
from dbt.adapters.spark_mt.api import MaterializedTables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

ROWS = 6_000_000
SCHEMA = "incremental"
SHARES = (0.0001, 0.001, 0.01, 0.15, 0.5, 1.0)
"""Parts of the rows of the source that change."""
LARGEST = 0.01
"""Up to which share a refresh must be cheaper than a recompute."""
SOURCE = "'delta.enableChangeDataFeed' = 'true', 'delta.enableDeletionVectors' = 'true'"
SALES = """id, pmod(hash(id), 1000000) AS customer, pmod(hash(id, 1), 1000) AS product,
CAST(pmod(hash(id, 2), 100000) / 100 AS DECIMAL(10, 2)) AS amount, pmod(hash(id, 3), 90) AS day"""
SHAPES = {
    "filter + project": "SELECT id, customer, amount * 2 AS twice FROM sales WHERE day < 60",
    "join of 3": """SELECT s.id, s.amount, c.country, p.category FROM sales s
        JOIN customers c ON c.customer = s.customer JOIN products p ON p.product = s.product""",
    "aggregate, 1,000 groups": """SELECT product, count(*) AS n, sum(amount) AS amount
        FROM sales GROUP BY product""",
    "aggregate, 1,000,000 groups": """SELECT customer, count(*) AS n, sum(amount) AS amount
        FROM sales GROUP BY customer""",
    "join + aggregate": """SELECT c.country, p.category, count(*) AS n, sum(s.amount) AS amount
        FROM sales s JOIN customers c ON c.customer = s.customer
        JOIN products p ON p.product = s.product GROUP BY c.country, p.category""",
    "window per key": """SELECT id, customer, amount, rank() OVER (
        PARTITION BY customer ORDER BY amount DESC) AS place FROM sales""",
    "DISTINCT": "SELECT DISTINCT customer, day FROM sales",
}


def load(spark: SparkSession, rows: int) -> None:
    """Create the sources: sales of 1,000,000 customers, and two tables to join them with."""
    spark.sql(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
    spark.sql(f"USE {SCHEMA}")
    for name, query in (
        ("sales", f"SELECT {SALES} FROM range(0, {rows}, 1, 16)"),
        ("customers", "SELECT id AS customer, id % 200 AS country FROM range(1000000)"),
        ("products", "SELECT id AS product, id % 20 AS category FROM range(1000)"),
    ):
        spark.sql(f"CREATE TABLE {name} USING delta TBLPROPERTIES ({SOURCE}) AS {query}")


def measure(
    spark: SparkSession,
    rows: int,
    samples: int,
    shares: Sequence[float],
    shapes: Sequence[str],
    option: str,
) -> list[Measurement]:
    """Change the source and refresh every table, `samples` times for each share.

    Args:
        spark: The session.
        rows: Rows of the source.
        samples: How often each share is measured, after one round that is not counted.
        shares: Parts of the rows that change.
        shapes: Keys of `SHAPES`.
        option: The tables' option `incremental`.
    """
    load(spark, rows)
    tables = MaterializedTables(spark)
    for place, shape in enumerate(shapes):
        progress(f"{shape}: first build …")
        tables.execute(
            f"CREATE MATERIALIZED TABLE ours{place} WITH ('incremental' = '{option}') "
            f"FRESHNESS = INTERVAL '1' MINUTE REFRESH_MODE = CONTINUOUS AS {SHAPES[shape]}"
        )
        spark.sql(f"CREATE TABLE theirs{place} USING delta AS {SHAPES[shape]}")
    measurements: list[Measurement] = []
    turn = 0
    for share in shares:
        rounds = []
        for sample in range(samples + 1):
            turn += 1
            _change(spark, rows, share, turn)
            rounds.append([_pair(spark, tables, p, s, sample) for p, s in enumerate(shapes)])
        for place, shape in enumerate(shapes):
            ours, theirs = zip(*(each[place] for each in rounds[1:]), strict=True)
            most = _most_ratio(share)
            name = f"{shape}, {share:.2%}"
            measurements.append(Measurement(name, ours, theirs, most_ratio=most))
    return measurements


def _most_ratio(share: float) -> float:
    if share > LARGEST:
        return 1.10
    return 0.10 if share > LARGEST / 10 else 0.05


def _change(spark: SparkSession, rows: int, share: float, turn: int) -> None:
    """Insert, update and delete a third of the share each; the source keeps its size."""
    third = max(1, int(rows * share / 3))
    first = rows + turn * rows
    spark.sql(f"INSERT INTO sales SELECT {SALES} FROM range({first}, {first + third})")
    if share >= 1:
        spark.sql("UPDATE sales SET amount = amount + 1")
        return
    every = max(2, int(3 / share))
    place = turn % every
    spark.sql(f"DELETE FROM sales WHERE pmod(id, {every}) = {place}")
    spark.sql(f"UPDATE sales SET amount = amount + 1 WHERE pmod(id, {every}) = {every - 1 - place}")


def _pair(
    spark: SparkSession, tables: MaterializedTables, place: int, shape: str, sample: int
) -> tuple[float, float]:
    """Return the seconds of a refresh and of the baseline; every second time in the other order."""
    start = time.perf_counter()
    if sample % 2:
        _overwrite(spark, place, shape)
    between = time.perf_counter()
    outcome = tables.refresh(f"ours{place}")
    after = time.perf_counter()
    if not sample % 2:
        start = after
        _overwrite(spark, place, shape)
        theirs = time.perf_counter() - start
    else:
        theirs = between - start
    ours = after - between
    text = f"{shape}: {ours:.2f} s ({outcome.strategy}, {outcome.rows} rows) to {theirs:.2f} s"
    progress(text)
    return ours, theirs


def _overwrite(spark: SparkSession, place: int, shape: str) -> None:
    spark.sql(f"INSERT OVERWRITE theirs{place} {SHAPES[shape]}")
