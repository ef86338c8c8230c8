"""A process whose driver and executor threads have a heap of 1 GB, and refreshes large changes.

`python -m tests.faults.small_driver <directory> <shape> <size>` first asserts that the table equals
its query over the positions that it names. Then it changes half of the rows of the source, or a few
of them, and refreshes. The refresh must apply these changes, or fail with an error of this project:
Spark ends its JVM where a task finds no memory. With an empty size it does neither.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.api import MaterializedTableError, MaterializedTables
from dbt.adapters.spark_mt.spark.launch.session import classic_spark
from dbt.adapters.spark_mt.strategies.strategy import DIFFERENTIAL
from tests.faults.one_scan import assert_right
from tests.support.delta_package import delta_confs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 2_000_000
_NAME = "concat_ws('-', id, sha2(CAST(id AS STRING), 256))"
SHAPES = {
    "wide rows": "SELECT id, v * 2 AS w, name FROM facts WHERE v >= 0",
    "groups": "SELECT id DIV 4 AS g, sum(v) AS total, count(*) AS n FROM facts GROUP BY id DIV 4",
    "join": "SELECT f.id, f.v + d.v AS w, d.name FROM facts f JOIN facts d ON f.id = d.id - 1",
    "ranks": "SELECT id, rank() OVER (PARTITION BY v ORDER BY id) AS place, name FROM facts",
}
_CONFS = {
    **delta_confs(),
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.driver.memory": "1g",
    "spark.log.level": "OFF",
    "spark.master": "local[2]",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
}
_SOURCE = "'delta.enableDeletionVectors' = 'true', 'delta.enableChangeDataFeed' = 'true'"


def prepare(spark: SparkSession, tables: MaterializedTables, shape: str) -> None:
    """Create the source and the table."""
    spark.sql(
        f"CREATE TABLE facts USING delta TBLPROPERTIES ({_SOURCE}) AS "
        f"SELECT id, CAST(id % 1000 AS INT) AS v, {_NAME} AS name FROM range({ROWS})"
    )
    tables.execute(
        "CREATE MATERIALIZED TABLE t WITH ('incremental' = 'strict') "
        f"FRESHNESS = INTERVAL '1' MINUTE REFRESH_MODE = CONTINUOUS AS {SHAPES[shape]}"
    )


def change(spark: SparkSession, size: str) -> None:
    """Change half of the source's rows, or a few."""
    if size == "few":
        spark.sql("UPDATE facts SET v = v + 1 WHERE id % 100001 = 0")
        return
    spark.sql("UPDATE facts SET v = v + 1 WHERE id % 3 = 0")
    spark.sql("DELETE FROM facts WHERE id % 7 = 0")
    spark.sql(f"INSERT INTO facts SELECT id, 5, {_NAME} FROM range({ROWS}, {ROWS + ROWS // 10})")


def main(directory: Path, shape: str, size: str) -> None:
    """Do what the module says."""
    spark = classic_spark(_CONFS, directory, directory / "spark.log")
    tables = MaterializedTables(spark)
    if spark.catalog.tableExists("t"):
        assert_right(tables)
    else:
        prepare(spark, tables, shape)
    if size:
        change(spark, size)
        with suppress(MaterializedTableError):  # the next process sees the rows of before
            assert tables.refresh("t").strategy == DIFFERENTIAL
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
