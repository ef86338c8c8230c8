"""Brings the jars that a session needs into Spark's ivy cache, by starting one session."""

from __future__ import annotations

import os
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path


def main() -> int:
    """Start a session with Delta's package, let it read one Delta table, stop it."""
    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.spark.versions import delta_package  # noqa: PLC0415

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    package = delta_package(version("pyspark"))
    print(f"Fetching {package} …")  # noqa: T201 - this is a command
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        spark = (
            SparkSession.builder.master("local[1]")
            .config("spark.jars.packages", package)
            .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
            .config(
                "spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog"
            )
            .config("spark.ui.enabled", "false")
            .config("spark.log.level", "OFF")
            .getOrCreate()
        )
        table = Path(scratch, "table").as_posix()
        spark.range(1).write.format("delta").save(table)
        rows = spark.read.format("delta").load(table).count()
        spark.stop()
    return 0 if rows == 1 else 1


if __name__ == "__main__":
    sys.exit(main())
