"""A process whose driver has little memory, and refreshes a table of which many rows change.

`python -m tests.incremental.spark.small_driver <directory>` prints the strategies and the largest
number of rows that one refresh removed and added.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.spark.launch.session import classic_spark
from tests.faults.server import CONFS

ROWS = 3_000_000
MEMORY = "1g"
QUERY = "SELECT id, v * 2 AS w, name FROM facts WHERE v >= 0"
CHANGES = (
    ("UPDATE facts SET v = v + 1 WHERE id % 4 = 0", "a quarter"),
    ("UPDATE facts SET v = v + 1 WHERE id % 2 = 0", "a half"),
)
"""A quarter is found by one scan; half of the rows are more than its filters are made for."""


def main(directory: Path) -> None:
    """Do what the module says."""
    requested = {**CONFS, "spark.driver.memory": MEMORY, "spark.master": "local[2]"}
    requested |= {key: "true" for key in CONFS if key.endswith("codegen.wholeStage")}
    requested.pop("spark.sql.codegen.factoryMode")
    spark = classic_spark(requested, directory, directory / "spark.log")
    columns = "id, CAST(id % 97 AS INT) AS v, concat('name ', id % 1000) AS name"
    spark.sql(f"CREATE TABLE facts USING delta AS SELECT {columns} FROM range({ROWS})")
    tables = MaterializedTables(spark)
    tables.execute(
        "CREATE MATERIALIZED TABLE t WITH ('incremental' = 'strict') "
        f"FRESHNESS = INTERVAL '1' MINUTE REFRESH_MODE = CONTINUOUS AS {QUERY}"
    )
    found = {}
    for statement, name in CHANGES:
        spark.sql(statement)
        found[name] = tables.refresh("t").strategy
        difference = tables.difference("t", limit=3)
        assert difference.is_equal, (difference.problem, difference.total, difference.rows)
    heap = spark.sparkContext._jvm.java.lang.Runtime.getRuntime().maxMemory()  # type: ignore[union-attr]
    print(json.dumps({"strategies": found, "heap": heap}))  # noqa: T201 - read by the test
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
