"""Runs the benchmarks and prints one table; `make bench`."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import (
    builds,
    choice,
    connect,
    growth,
    iceberg,
    incremental,
    manager,
    manager_fresh,
    manager_queue,
    manager_rest,
    manager_start,
    parsing,
    peers,
    plain_sql,
    registry,
    small,
    streams,
    streams_change,
    streams_lag,
    streams_memory,
    tpcds,
)
from benchmarks.report import Measurement, progress, report
from dbt.adapters.spark_mt.spark.launch.connect_server import Listening, serving_confs
from dbt.adapters.spark_mt.spark.launch.session import classic_spark
from tests.kafka.broker import running_broker
from tests.kafka.jars import connector_jars

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

STREAMS = (
    "stream-delta",
    "stream-kafka",
    "stream-windows",
    "stream-change",
    "stream-lag",
    "stream-memory",
)
_SIZES = (
    ("--stream-batches", 100, "how many small batches of a stream are measured"),
    ("--stream-rows", 1_000_000, "rows of a large batch, and of a table whose query changes"),
    ("--lag-seconds", 180, "for how long the lag is measured"),
    ("--memory-batches", 1_000, "after how many batches memory is compared"),
    ("--managed-tables", 1_000, "tables of a manager that has nothing to do"),
    ("--managed-seconds", 120, "for how long a manager is looked at"),
    ("--hosted-tables", 50, "tables that a manager hosts"),
    ("--rest-seconds", 600, "for how long a manager is looked at whose sources do not change"),
    ("--queued-tables", 100, "tables of which refreshes wait in a manager"),
    ("--queued-refreshes", 1_000, "refreshes that wait in a manager"),
    ("--fresh-seconds", 300, "for how long lags are measured by a writer and a reader"),
    ("--incremental-rows", incremental.ROWS, "rows of the source of tables that are refreshed"),
    ("--peers-rows", peers.ROWS, "the same for `peers`"),
    ("--choice-minutes", choice.MINUTES, "for how long cells of `choice` are measured"),
)
MANAGER = (
    "manager-idle",
    "manager-drift",
    "manager-rest",
    "manager-hosts",
    "manager-fresh",
    "manager-many",
)
IN_A_SHELL = ("parsing", "connect", "manager-start", "manager-queue", "plain-sql-start")
ALONE = (iceberg.PART, peers.PART, choice.PART, growth.PART, tpcds.PART)
"""What needs an environment, or a Spark, of its own."""
ALWAYS = (
    *IN_A_SHELL,
    "builds",
    "registry",
    "small",
    "plain-sql",
    "incremental",
    *STREAMS,
    *MANAGER,
)
PARTS = (*ALWAYS, *ALONE)


def main() -> int:
    """Run the chosen parts; 1 where a target is not met."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=(__doc__ or "").split(";")[0])
    parser.add_argument(
        "--only",
        choices=PARTS,
        action="append",
        help="a part; by default all that need no environment or Spark of their own",
    )
    parser.add_argument("--samples", type=int, default=5, help="how often each thing is measured")
    parser.add_argument("--rows", type=int, default=builds.ROWS, help="rows that a build reads")
    for name, default, meaning in _SIZES:
        parser.add_argument(name, type=int, default=default, help=meaning)
    parser.add_argument(
        "--choice-rows", type=int, action="append", help="rows of a source of `choice`"
    )
    parser.add_argument("--tpcds-scale", type=float, default=1, help="1 for 1 GB of TPC-DS")
    parser.add_argument("--tpcds-rows", type=Path, help="a directory that has its Parquet files")
    parser.add_argument("--query", action="append", help="a query of TPC-DS, such as q14a")
    parser.add_argument(
        "--growth-rows", type=int, action="append", help="rows of a source of `growth`"
    )
    parser.add_argument("--incremental", choices=("auto", "strict"), default="auto")
    parser.add_argument("--share", type=float, action="append", help="part of rows that change")
    shapes = (*incremental.SHAPES, *(set(peers.SHAPES) - set(incremental.SHAPES)))
    parser.add_argument("--shape", choices=shapes, action="append", help="a query")
    parser.add_argument(
        "--way", choices=peers.WAYS, action="append", help="what `peers` compares ours with"
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        measurements = run(arguments.only or ALWAYS, Path(scratch), arguments)
    load = " ".join(f"{figure:.1f}" for figure in os.getloadavg())
    print(report(measurements))  # noqa: T201 - this is a command
    print(f"\nmedians of {arguments.samples}; {os.cpu_count()} cores, load {load}")  # noqa: T201
    return 0 if all(measurement.kept for measurement in measurements) else 1


def run(parts: Sequence[str], folder: Path, requested: argparse.Namespace) -> list[Measurement]:
    """Measure; what runs dbt in a shell comes first, so that Spark's JVM takes nothing from it."""
    measurements = run_with_a_spark_of_its_own(parts, folder, requested)
    if set(parts) <= {*IN_A_SHELL, peers.PART}:
        return measurements
    progress("starting Spark and making the data …")
    with ExitStack() as stack:
        spark = start(folder, parts)
        stack.callback(spark.stop)
        if "builds" in parts:
            builds.load(spark, requested.rows)
            measurements += builds.measure(spark, folder, requested.samples)
        if "registry" in parts:
            progress("the registry …")
            measurements.append(registry.measure(spark, requested.samples))
        for part in (small, iceberg, plain_sql):
            if part.PART in parts:
                measurements += part.measure(spark, requested.samples)
        if {"incremental", choice.PART, growth.PART, tpcds.PART} & set(parts):
            measurements += run_changes(spark, parts, folder, requested)
        if set(parts) & set(STREAMS):
            measurements += run_streams(spark, parts, folder, requested)
        if set(parts) & set(MANAGER):
            measurements += run_manager(spark, parts, requested)
    return measurements


def run_changes(
    spark: SparkSession, parts: Sequence[str], folder: Path, requested: argparse.Namespace
) -> list[Measurement]:
    """Measure refreshes after changes of their sources."""
    measurements: list[Measurement] = []
    shapes = requested.shape or tuple(incremental.SHAPES)
    if "incremental" in parts:
        shares = requested.share or incremental.SHARES
        size = requested.incremental_rows, requested.samples
        option = requested.incremental
        measurements += incremental.measure(spark, *size, shares, shapes, option)
    if choice.PART in parts:
        shares = requested.share or choice.SHARES
        sizes = requested.choice_rows or choice.SIZES
        measurements += choice.measure(spark, sizes, requested.choice_minutes, shares, shapes)
    if tpcds.PART in parts:
        measurements += tpcds.measure(
            spark,
            requested.tpcds_rows or folder,
            requested.tpcds_scale,
            requested.samples,
            (requested.share or (tpcds.SHARE,))[0],
            requested.query or (),
        )
    if growth.PART in parts:
        sizes = requested.growth_rows or growth.SIZES
        shapes = requested.shape or tuple(peers.SHAPES)
        measurements += growth.measure(spark, sizes, requested.samples, shapes)
    return measurements


def run_with_a_spark_of_its_own(
    parts: Sequence[str], folder: Path, requested: argparse.Namespace
) -> list[Measurement]:
    """Measure what starts processes, or its own Spark in this one."""
    samples = requested.samples
    measurements: list[Measurement] = []
    if "parsing" in parts:
        progress("dbt parse …")
        measurements.append(parsing.measure(folder, samples))
    if "connect" in parts:
        measurements += connect.measure(folder, samples)
    if "manager-start" in parts:
        measurements += manager_start.measure(folder, samples)
    if "plain-sql-start" in parts:
        measurements += plain_sql.start(folder, samples)
    if "manager-queue" in parts:
        size = requested.queued_tables, requested.queued_refreshes
        measurements += manager_queue.measure(folder, *size)
    if peers.PART in parts:
        shares = requested.share or peers.SHARES
        shapes = requested.shape or tuple(peers.SHAPES)
        size = requested.peers_rows, samples
        ways = requested.way or peers.WAYS
        measurements += peers.measure(settings(), folder, *size, shares, shapes, ways)
    return measurements


def run_manager(
    spark: SparkSession, parts: Sequence[str], requested: argparse.Namespace
) -> list[Measurement]:
    """Measure a refresh manager."""
    measurements: list[Measurement] = []
    if "manager-drift" in parts:
        measurements += manager.drift(requested.managed_tables, requested.managed_seconds)
    if "manager-idle" in parts:
        measurements += manager.idle(spark, requested.managed_tables, requested.managed_seconds)
    if "manager-rest" in parts:
        measurements += manager_rest.rest(spark, requested.rest_seconds)
    if "manager-hosts" in parts:
        measurements += manager_rest.hosts(
            spark, requested.hosted_tables, requested.managed_seconds
        )
    if "manager-fresh" in parts:
        measurements += manager_fresh.measure(spark, requested.fresh_seconds)
    if "manager-many" in parts:
        measurements += manager_fresh.many(spark, requested.hosted_tables, requested.fresh_seconds)
    return measurements


def run_streams(
    spark: SparkSession, parts: Sequence[str], folder: Path, requested: argparse.Namespace
) -> list[Measurement]:
    """Measure hosted tables."""
    streams.prepare(spark)
    size = requested.stream_batches, requested.stream_rows
    measurements: list[Measurement] = []

    def add(measured: Sequence[Measurement]) -> None:
        progress(report(measured))
        measurements.extend(measured)

    if "stream-delta" in parts:
        add(streams.delta_append(spark, folder, *size))
    if "stream-kafka" in parts:
        with running_broker(folder) as servers:
            add(streams.kafka_append(spark, folder, servers, *size))
    if "stream-windows" in parts:
        add(streams.windows(spark, folder, *size))
    if "stream-change" in parts:
        add(streams_change.measure(spark, folder, requested.samples, requested.stream_rows))
    if "stream-lag" in parts:
        add(streams_lag.measure(spark, requested.lag_seconds))
    if "stream-memory" in parts:
        add(streams_memory.measure(spark, folder, requested.memory_batches))
    return measurements


def settings() -> dict[str, str]:
    """Return the confs that both sides get."""
    return {
        **builds.SETTINGS,
        **streams.SETTINGS,
        "spark.driver.memory": "3g",
        "spark.ui.enabled": "false",
        "spark.databricks.delta.snapshotPartitions": "2",
    }


def start(folder: Path, parts: Sequence[str]) -> SparkSession:
    """Start Spark with the settings that both sides get, or with those of a manager."""
    confs = settings()
    if "stream-kafka" in parts:
        confs["spark.jars"] = ",".join(connector_jars())
    if iceberg.PART in parts:
        confs.update(iceberg.confs(folder))
    if set(parts) <= set(MANAGER):
        confs = serving_confs(confs, Listening())
    return classic_spark(confs, folder, folder / "spark.log")


if __name__ == "__main__":
    sys.exit(main())
