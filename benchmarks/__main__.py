"""Runs the benchmarks and prints one table; `make bench`."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import builds, parsing, registry
from benchmarks.report import Measurement, progress, report
from dbt.adapters.spark_mt.spark.session import classic_spark

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

PARTS = ("parsing", "builds", "registry")


def main() -> int:
    """Run the chosen parts; 1 where a promise is not kept."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=(__doc__ or "").split(";")[0])
    parser.add_argument("--only", choices=PARTS, action="append", help="a part; all by default")
    parser.add_argument("--samples", type=int, default=5, help="how often each thing is measured")
    parser.add_argument("--rows", type=int, default=builds.ROWS, help="rows that a build reads")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        parts = arguments.only or PARTS
        measurements = run(parts, Path(scratch), arguments.samples, arguments.rows)
    load = " ".join(f"{figure:.1f}" for figure in os.getloadavg())
    print(report(measurements))  # noqa: T201 - this is a command
    print(f"\nmedians of {arguments.samples}; {os.cpu_count()} cores, load {load}")  # noqa: T201
    return 0 if all(measurement.kept for measurement in measurements) else 1


def run(parts: Sequence[str], folder: Path, samples: int, rows: int) -> list[Measurement]:
    """Measure; parsing comes first, so that Spark's JVM takes nothing from it."""
    measurements: list[Measurement] = []
    if "parsing" in parts:
        progress("dbt parse …")
        measurements.append(parsing.measure(folder, samples))
    if "builds" in parts or "registry" in parts:
        progress("starting Spark and making the data …")
        spark = start(folder)
        if "builds" in parts:
            builds.load(spark, rows)
            measurements += builds.measure(spark, folder, samples)
        if "registry" in parts:
            progress("the registry …")
            measurements.append(registry.measure(spark, samples))
        spark.stop()
    return measurements


def start(folder: Path) -> SparkSession:
    """Start Spark with the settings that both sides get."""
    confs = {
        **builds.SETTINGS,
        "spark.driver.memory": "3g",
        "spark.ui.enabled": "false",
        "spark.databricks.delta.snapshotPartitions": "2",
    }
    return classic_spark(confs, folder, folder / "spark.log")


if __name__ == "__main__":
    sys.exit(main())
