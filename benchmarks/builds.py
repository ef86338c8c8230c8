"""A materialized table against dbt-spark's own `table`, on one JVM, one query and one data set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.projects import Project, run, write_project
from benchmarks.report import Measurement, progress
from dbt.adapters.spark_mt.api import MaterializedTables

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

ROWS = 5_000_000
CUSTOMERS = 200_000
SCHEMA = "bench"
SETTINGS = {"spark.sql.ansi.enabled": "false", "spark.sql.shuffle.partitions": "4"}
QUERY = f"""
select
    c.country,
    o.customer_id,
    trunc(o.ordered_on, 'MM') as month,
    count(*) as orders,
    sum(o.amount) as amount,
    avg(o.amount) as mean_amount,
    max(o.note) as last_note
from {SCHEMA}.orders as o
join {SCHEMA}.customers as c on c.customer_id = o.customer_id
group by c.country, o.customer_id, trunc(o.ordered_on, 'MM')
"""
TABLE = "{{ config(materialized='table', file_format='delta') }}\n" + QUERY
MATERIALIZED = "{{ config(materialized='materialized_table', freshness='1 hour') }}\n" + QUERY


def load(spark: SparkSession, rows: int) -> None:
    """Make the sources: orders of 200,000 customers over half a year."""
    spark.sql(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
    spark.sql(
        f"""CREATE OR REPLACE TABLE {SCHEMA}.orders USING delta AS
        SELECT id AS order_id,
               CAST(pmod(hash(id), {CUSTOMERS}) AS BIGINT) AS customer_id,
               date_add(DATE '2025-01-01', CAST(pmod(hash(id, 1), 180) AS INT)) AS ordered_on,
               CAST(pmod(hash(id, 2), 100000) / 100 AS DECIMAL(10,2)) AS amount,
               concat('order ', pmod(hash(id, 3), 1000)) AS note
        FROM range({rows})"""
    )
    spark.sql(
        f"""CREATE OR REPLACE TABLE {SCHEMA}.customers USING delta AS
        SELECT id AS customer_id, concat('country ', id % 200) AS country FROM range({CUSTOMERS})"""
    )


def append(spark: SparkSession) -> None:
    """Let the sources move."""
    spark.sql(f"INSERT INTO {SCHEMA}.orders SELECT * FROM {SCHEMA}.orders LIMIT 1000")


def measure(spark: SparkSession, folder: Path, samples: int) -> list[Measurement]:
    """Build, rebuild after the sources moved, and run again unchanged, in turn with the baseline.

    One round before the first sample, number 0, warms both sides up.
    """
    table = write_project(
        folder / "table",
        {
            "type": "spark",
            "method": "session",
            "host": "localhost",
            "schema": SCHEMA,
            "server_side_parameters": SETTINGS,
        },
        {"as_table": TABLE},
    )
    ours = write_project(
        folder / "ours",
        {"type": "spark_mt", "schema": SCHEMA, "server_side_parameters": SETTINGS},
        {"as_materialized_table": MATERIALIZED},
    )
    rounds = [_round(spark, table, ours, number) for number in range(samples + 1)][1:]
    first_table, first, again_table, again, unchanged = zip(*rounds, strict=True)
    return [
        Measurement("first build", first, first_table, most_ratio=1.10),
        Measurement("rebuild, sources moved", again, again_table, most_ratio=1.10),
        Measurement("nothing changed", unchanged, again_table, most_ratio=0.10, most_seconds=0.35),
    ]


def _round(spark: SparkSession, table: Project, ours: Project, number: int) -> tuple[float, ...]:
    spark.sql(f"DROP TABLE IF EXISTS {SCHEMA}.as_table")
    MaterializedTables(spark).execute(
        f"DROP MATERIALIZED TABLE IF EXISTS {SCHEMA}.as_materialized_table"
    )
    first_table, first = _in_turn(table, ours, number)
    append(spark)
    again_table, again = _in_turn(table, ours, number)
    seconds = first_table, first, again_table, again, run(ours)
    progress(f"round {number}: " + " ".join(f"{each:.2f}" for each in seconds))
    return seconds


def _in_turn(table: Project, ours: Project, number: int) -> tuple[float, float]:
    """Run both, in every second round the other one first: the second finds warmer caches."""
    if number % 2:
        seconds = run(ours)
        return run(table), seconds
    return run(table), run(ours)
