"""Download of the jars that a session needs into Ivy's cache, by starting one session."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from dbt.adapters.spark_mt.spark.launch.session import classic_spark


def main() -> int:
    """Start Spark as dbt would, write and read one Delta table, stop it."""
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        spark = classic_spark({}, home, home / "spark.log")
        table = (home / "table").as_uri()
        spark.range(1).write.format("delta").save(table)
        rows = spark.read.format("delta").load(table).count()
        spark.stop()
    return 0 if rows == 1 else 1


if __name__ == "__main__":
    sys.exit(main())
